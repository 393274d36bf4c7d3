"""What a dossier's file says of itself, and what the log says of who asked a vendor for one."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from django.db import transaction
from django.test import Client
from django.urls import reverse

from approvals.models import Reader
from durable import acts, holds
from durable.models import Effect, LedgerEvent
from durable.states import ActKind
from tests import factories
from tests.engine import people
from tests.engine.test_dossiers import about_8812, address, client, edited, page, subject, taken
from tests.logged import full
from tests.vendors import Vendor

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("kit")]

UNTIL = datetime(2025, 3, 31, 23, 59, 59, tzinfo=UTC)


def cut(body: dict[str, Any]) -> None:
    """The log as it is after a part of the ledger has gone."""
    with transaction.atomic():
        acts.record(ActKind.LEDGER_CUT, actor="interlock", about="retention", body=body)


def asked() -> list[tuple[str, str]]:
    """Who had a vendor asked about what, by the log."""
    return list(LedgerEvent.objects.filter(kind="look-up asked").values_list("actor", "effect_key"))


def test_a_file_is_complete_only_where_no_record_has_gone() -> None:
    effect = factories.gate().effect
    for kind, name in (("effect", effect.key), ("run", effect.run.ref), ("subject", subject(effect))):
        file = taken(kind, name)
        assert (file["complete"], file["ledger_gone"], file["ledger_gone_until"]) == (True, False, None)
    cut({"root": 7, "until": UNTIL.isoformat()})
    for kind, name in (("effect", effect.key), ("run", effect.run.ref), ("subject", subject(effect))):
        file = taken(kind, name)
        assert (file["complete"], file["ledger_gone"], file["newest_only"]) == (False, True, False)
        assert (file["ledger_gone_until"], file["ledger_gone_root"]) == ("2025-03-31T23:59:59Z", 7)
        assert "root 7: what was done before then is not here" in page(kind, name).content.decode()


def test_a_file_is_not_complete_where_it_can_not_be_read_up_to_when_records_have_gone() -> None:
    effect = factories.gate().effect
    cut({})
    file = taken("effect", effect.key)
    assert (file["complete"], file["ledger_gone"], file["ledger_gone_until"]) == (False, True, None)
    assert "what was done in their time is not here" in page("effect", effect.key).content.decode()


def test_a_file_of_the_newest_effects_says_that_there_are_more(
    vendor: Vendor, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, _ = about_8812(vendor, 2)
    monkeypatch.setattr("approvals.queries.dossiers.MOST", 1)
    file = taken("subject", subject(first))
    assert (file["complete"], file["newest_only"], file["ledger_gone"]) == (False, True, False)


def test_a_file_names_the_legal_holds_and_the_zone_of_who_took_it() -> None:
    effect = factories.gate().effect
    assert taken("run", effect.run.ref)["legal_holds"] == []
    hold = holds.set_on_run(effect.run.ref, actor="ada", reason="a claim")
    rita = people.person("rita")
    Reader.objects.create(person=rita, zone="Pacific/Auckland")
    for kind, name in (("run", effect.run.ref), ("effect", effect.key)):
        file = taken(kind, name)
        (told,) = file["legal_holds"]
        assert (told["hold"], told["set_by"]) == (hold.pk, "ada")
        assert told["set_at"].endswith("Z")
        assert file["made"]["zone"] == "Pacific/Auckland"
        assert file["made"]["by"] == "rita"


def test_a_file_has_what_the_vendor_says_now_where_that_was_wanted_and_else_that_nobody_asked(
    vendor: Vendor,
) -> None:
    effect = edited(vendor)
    requests = len(vendor.requests("GET"))
    (case,) = taken("effect", effect.key)["effects"]
    assert case["at_vendor"] == "not asked"
    assert len(vendor.requests("GET")) == requests and asked() == []

    answer = client().post(address("effect", effect.key, "-files"), {"ask": "yes"})
    (case,) = answer.json()["effects"]
    (receipt,) = case["at_vendor"]["receipts"]
    assert (receipt["id"], receipt["wrong"], case["at_vendor"]["cannot"]) == (effect.receipt_id, "", "")
    assert case["at_vendor"]["at"].endswith("Z")
    assert len(vendor.requests("GET")) > requests and asked() == [("rita", effect.key)]


def test_who_may_not_take_a_file_has_no_vendor_asked_for_one(vendor: Vendor) -> None:
    effect = edited(vendor)
    requests = len(vendor.requests("GET"))
    answer = client("alice").post(address("effect", effect.key, "-files"), {"ask": "yes"})
    assert answer.status_code == 403
    assert len(vendor.requests("GET")) == requests and asked() == []


def test_the_log_has_who_asked_a_vendor_from_a_dossier_and_the_chain_of_the_effect_does_not_grow(
    vendor: Vendor,
) -> None:
    effect = edited(vendor)
    before = LedgerEvent.objects.filter(run_ref=effect.run.ref).count()
    olga = client("olga")
    assert olga.post(reverse("dossier-look-ups", args=[effect.key])).status_code == 200
    assert asked() == [("olga", effect.key)]
    assert LedgerEvent.objects.filter(run_ref=effect.run.ref).count() == before
    for about in (effect.key, effect.run.ref):
        rows = client().get(reverse("acts"), {"q": f"about:{about} kind:look-up-asked"}).context["acts"]
        assert [(row["who"], [one.label for one in row["objects"]]) for row in rows] == [
            ("Olga", [effect.key])
        ]


def test_a_vendor_is_not_asked_where_the_log_takes_nothing(vendor: Vendor) -> None:
    effect = edited(vendor)
    requests = len(vendor.requests("GET"))
    olga = client("olga")
    olga.raise_request_exception = False
    with full():
        assert olga.post(reverse("dossier-look-ups", args=[effect.key])).status_code == 500
    assert len(vendor.requests("GET")) == requests


def test_each_dossier_leads_to_what_was_done_about_it_and_exports_to_theirs(vendor: Vendor) -> None:
    (effect,) = about_8812(vendor, 1)
    effect = Effect.objects.get(pk=effect.pk)
    rita = client()
    for kind, name, about in (
        ("effect", effect.key, effect.key),
        ("run", effect.run.ref, effect.run.ref),
        ("subject", subject(effect), f"subject:{subject(effect)}"),
    ):
        taken(kind, name)
        assert log_link(rita, address(kind, name), f"about:{about}")
        kinds = [row["kind"] for row in rita.get(reverse("acts"), {"q": f"about:{about}"}).context["acts"]]
        assert "dossier taken" in kinds, kind
    rita.post(reverse("export-requests"), {"of": "ledger", "q": "", "form": "csv"})
    assert log_link(rita, reverse("exports"), "kind:export-asked")
    assert log_link(rita, reverse("exports"), "about:export:")
    assert not log_link(client("olga"), address("effect", effect.key), "about:")


def log_link(who: Client, page: str, query: str) -> bool:
    """Whether a page leads to the log, with a query that begins so."""
    text = who.get(page).content.decode().partition("<main")[2]
    return f'href="{reverse("acts")}?q={query.replace(":", "%3A")}' in text
