"""Dossiers of real effects: nothing left out that is known, nothing told that is erased or secret."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from approvals.models import Decision, Gate
from approvals.states import Verdict
from durable import vault, verdicts
from durable.models import Effect, LedgerEvent, Subject
from durable.states import RunState
from tests import factories
from tests.engine import desk, people, scenes, tools
from tests.engine.scenes import WHY
from tests.vendors import Vendor

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("kit")]


def client(who: str = "rita") -> Client:
    made = Client()
    made.force_login(people.person(who))
    return made


def address(kind: str, name: str, what: str = "") -> str:
    return reverse(f"dossier-{kind}{what}", args=[name])


def page(kind: str, name: str) -> Any:
    return client().get(address(kind, name))


def taken(kind: str, name: str) -> Any:
    """The file, read back by a machine."""
    answer = client().post(address(kind, name, "-files"))
    assert answer.status_code == 200, answer.content
    assert answer["Content-Disposition"].startswith(f'attachment; filename="dossier-{kind}-')
    assert answer["Content-Type"] == "application/json"
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert "no-store" in answer["Cache-Control"]
    return json.loads(answer.content)


def edited(vendor: Vendor) -> Effect:
    """Asked for 40, edited to 30 by alice, let out by bob, sent, and applied."""
    wanted = scenes.args(vendor)
    tools.asks((tools.wire_out, wanted))
    run = desk.drive(tools.start())
    people.say(
        run, Verdict.EDIT, args={**wanted, "amount": "30.00", "currency": "EUR"}, words="partly his fault"
    )
    people.say(run, by="bob", words="as agreed")
    assert desk.drive(run).state == RunState.COMPLETED
    return tools.effect(run)


def test_it_tells_who_was_shown_what_and_what_each_has_answered(vendor: Vendor) -> None:
    effect = edited(vendor)
    answer = page("effect", effect.key)
    (case,) = answer.context["cases"]

    assert json.loads(case["payload"])["args"]["amount"] == "30.00"
    assert json.loads(case["asked"]["payload"])["args"]["amount"] == "40.00"
    first, second = case["rounds"]
    assert json.loads(first["payload"])["args"]["amount"] == "40.00" and second["payload"] is None
    told = [
        (one["who"], one["verdict"], one["words"]) for round in case["rounds"] for one in round["answers"]
    ]
    assert told == [("Alice", "edited", "partly his fault"), ("Bob", "approved", "as agreed")]
    yes = Decision.objects.get(verdict="approve")
    assert second["answers"][0]["at"] == yes.at and second["answers"][0]["authenticated"] == yes.authenticated
    assert second["used_at"] == Gate.objects.get(round=2).used_at
    text = answer.content.decode()
    for shown in (
        effect.key,
        effect.receipt_id,
        effect.digest,
        effect.digest_asked,
        "authenticated by <bdi>session</bdi>",
    ):
        assert shown in text, shown


def test_each_event_stands_with_its_place_in_the_chain(vendor: Vendor) -> None:
    effect = edited(vendor)
    (case,) = page("effect", effect.key).context["cases"]
    events = LedgerEvent.objects.filter(effect_key=effect.key).order_by("no")
    assert [(one["no"], one["hash"], one["kind"], one["at"]) for one in case["log"]] == [
        (event.no, bytes(event.hash).hex(), event.kind, event.at) for event in events
    ]


def test_it_tells_how_long_nobody_knew_and_how_that_was_settled(vendor: Vendor) -> None:
    run = scenes.doubtful(vendor)
    (case,) = page("effect", scenes.key(run)).context["cases"]
    assert [doubt["until"] for doubt in case["doubts"]] == [None]
    assert "until now" in page("effect", scenes.key(run)).content.decode()

    verdicts.happened(scenes.key(run), receipt_id="re_1", **WHY)
    (case,) = page("effect", scenes.key(run)).context["cases"]
    (doubt,) = case["doubts"]
    since, until = (
        LedgerEvent.objects.get(effect_key=scenes.key(run), kind=kind) for kind in ("in doubt", "verdict")
    )
    assert (doubt["since"], doubt["until"]) == (since.at, until.at)
    assert doubt["how"] == "olga gave a verdict: happened"
    assert [event["said"] for event in case["log"] if event["kind"] == "verdict"] == ["I looked"]


def test_it_tells_what_was_undone_and_by_what(vendor: Vendor) -> None:
    run = scenes.done(scenes.sku("MUG-BLUE"))
    scenes.compensated(run)
    done, undo = Effect.objects.filter(run=run).order_by("id")
    shown = page("run", run.ref)
    later, earlier = shown.context["cases"]
    assert (later["key"], later["undoes"]) == (undo.key, done.key)
    assert [(one["key"], one["state"], one["receipt_id"]) for one in earlier["undos"]] == [
        (undo.key, "applied", undo.receipt_id)
    ]
    assert [row["undone"] for row in shown.context["rows"]] == [False, True]


def about_8812(vendor: Vendor, number: int) -> list[Effect]:
    """As many refunds of one order, of a run each."""
    found = []
    for place in range(number):
        args = {"order": "8812", "charge": tools.charge(vendor), "amount": Decimal(10 + place)}
        tools.asks((tools.once, args))
        run = desk.drive(tools.start())
        if people.gates(run):
            people.say(run)
            desk.drive(run)
        found.append(tools.effect(run))
    return found


def subject(effect: Effect) -> str:
    return Subject.objects.filter(effect=effect)[0].hash


def test_a_subjects_dossier_holds_what_all_runs_did_for_it(vendor: Vendor) -> None:
    first, second = about_8812(vendor, 2)
    answer = page("subject", subject(first))
    assert [case["key"] for case in answer.context["cases"]] == [second.key, first.key]
    assert [(sum.currency, sum.applied, sum.count) for sum in answer.context["sums"]] == [("EUR", 2100, 2)]
    assert "All about order 8812" in answer.content.decode()
    assert "8812" not in address("subject", subject(first))


def test_the_file_holds_what_the_page_shows(vendor: Vendor) -> None:
    effect = edited(vendor)
    file = taken("effect", effect.key)
    assert (file["form"], file["about"]["name"], file["made"]["by"], file["complete"]) == (
        "interlock-dossier-1", effect.key, "rita", True,
    )  # fmt: skip
    assert file["sums"] == [
        {"currency": "EUR", "applied": "30.00", "of_it_undone": "0.00", "in_doubt": "0.00", "count": 1}
    ]
    (case,) = file["effects"]
    assert (case["amount"], case["amount_minor"], case["receipt"]) == ("30.00", 3000, effect.receipt_id)
    assert case["payload"]["args"]["amount"] == "30.00"
    assert [one["answers"][0]["who"] for one in case["rounds"]] == ["Alice", "Bob"]
    assert case["recorded_at"].endswith("Z")
    assert [event["no"] for event in case["log"]] == sorted(event["no"] for event in case["log"])


def test_a_file_is_for_auditors_and_admins_alone(vendor: Vendor) -> None:
    effect = edited(vendor)
    may = {
        who: client(who).post(address("effect", effect.key, "-files")).status_code for who in factories.ROLES
    }
    assert may == {"alice": 403, "bob": 403, "olga": 403, "rita": 200, "ada": 200, "charlie": 403}
    assert "Take it as a file" not in client("alice").get(address("effect", effect.key)).content.decode()


def test_what_is_no_longer_kept_says_so_on_the_page_and_in_the_file(vendor: Vendor) -> None:
    first, second = about_8812(vendor, 2)
    effect = edited(vendor)
    for one in (first, second, effect):
        vault.destroy(one.run)
    for kind, name in (("effect", effect.key), ("subject", subject(first)), ("run", effect.run.ref)):
        text, file = page(kind, name).content.decode(), taken(kind, name)
        for gone in ("8812", "partly his fault", "as agreed", "30.00 EUR to"):
            # By itself: any digest and any moment may hold these digits among others.
            word = re.compile(rf"(?<![0-9a-f]){gone}(?![0-9a-fZ])")
            assert not word.search(text), (kind, gone)
            assert not word.search(json.dumps(file)), (kind, gone)
        assert "(no longer kept)" in text
        assert {json.dumps(case["payload"]) for case in file["effects"]} == {'"(no longer kept)"'}
        assert all(case["amount"] and case["receipt"] for case in file["effects"])


def test_a_secret_is_masked_as_on_the_gate(vendor: Vendor) -> None:
    gate = factories.gate(iban="DE02120300000000202051")
    text = page("effect", gate.effect.key).content.decode()
    file = json.dumps(taken("effect", gate.effect.key), ensure_ascii=False)
    for shown in (text, file):
        assert "2051 (masked)" in shown and "DE0212030000" not in shown


def test_the_vendor_is_asked_on_demand_alone_and_nothing_follows_from_it(vendor: Vendor) -> None:
    effect = edited(vendor)
    before, asked = LedgerEvent.objects.filter(run_ref=effect.run.ref).count(), len(vendor.requests("GET"))
    shown = page("effect", effect.key)
    assert "Not asked" in shown.content.decode() and len(vendor.requests("GET")) == asked

    answer = client().post(reverse("dossier-look-ups", args=[effect.key]))
    seen = answer.context["seen"]
    assert [(one["id"], one["wrong"]) for one in seen["receipts"]] == [(effect.receipt_id, "")]
    assert seen["at"] > effect.settled_at
    assert (
        len(vendor.requests("GET")) > asked
        and LedgerEvent.objects.filter(run_ref=effect.run.ref).count() == before
    )
    assert "agrees with the ledger" in answer.content.decode()


def test_a_vendor_that_can_not_say_is_no_answer(vendor: Vendor) -> None:
    effect = edited(vendor)
    run = scenes.doubtful(vendor)
    vendor.fault("status", method="GET", path="/v1/refunds", status=500, times=20)
    for key, words in ((effect.key, "it can't be said"), (scenes.key(run), "opaque has no look-up")):
        answer = client().post(reverse("dossier-look-ups", args=[key]), headers={"HX-Request": "true"})
        assert words in answer.content.decode()
        assert b"<html" not in answer.content


def test_a_dossier_of_many_asks_no_more_than_one_of_few(vendor: Vendor) -> None:
    asked = []
    effects: list[Effect] = []
    for number in (2, 4):
        effects += about_8812(vendor, number)
        rita, where = client(), address("subject", subject(effects[0]))
        with CaptureQueriesContext(connection) as queries:
            assert rita.get(where).status_code == 200
        asked.append(len(queries))
    assert asked[0] == asked[1] <= 15
