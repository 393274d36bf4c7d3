"""What pages show, and to whom; that looking changes nothing; and that counts agree with lists."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import OperationalError, connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from approvals.models import BulkAct, BulkResult, Gate
from approvals.queries import inbox
from durable.findings import Finding
from durable.models import LedgerEvent, Subject, VendorStatement
from tests import factories
from tests.approvals import stated
from tests.approvals.addresses import names
from tests.approvals.conftest import SignIn
from tests.approvals.world import world

pytestmark = pytest.mark.django_db

READERS = ("alice", "olga", "rita", "ada")
#: Who gets which status from a GET, by the name of the address. Whoever is not named here gets what `else` says.
LISTS = ("gates", "runs", "run-suggestions", "bulk-acts", "doubts", "compensation", "ledger", "ledger-suggestions",
         "refunds", "statements", "tools")  # fmt: skip
RUN_PAGES = ("run", "conversation", "log", "checkpoints", "way-back")
DOSSIERS = ("dossier-effect", "dossier-run", "dossier-subject")
OBJECTS = ("gate", "payload", "facts", "alike", *RUN_PAGES, "effect", "bulk-act", "statement", *DOSSIERS)
POSTS = ("decisions", "alike-decisions", "answers", "holds", "releases", "cancellations", "compensations", "retries",
         "skips", "forks", "state", "verdicts", "look-ups", "run-views", "run-view-deletions", "bulk-drafts",
         "bulk-starts", "bulk-stops", *(f"{one}-files" for one in DOSSIERS), "dossier-look-ups",
         "export-requests", "export-stops", "export-deletions", "export-downloads", "time-zone-choices",
         "retention-policies", "hold-orders", "hold-liftings", "erasure-looks", "erasure-requests",
         "erasure-withdrawals", "statement-requests", "statement-explanations")  # fmt: skip
#: Acts on no object.
BARE = ("run-views", "bulk-drafts", "export-requests", "time-zone-choices", "retention-policies", "hold-orders",
        "erasure-looks", "erasure-requests", "statement-requests")  # fmt: skip
#: Of these everybody has only their own, whatever rights they have.
OWN = ("export-stops", "export-deletions", "export-downloads")
OPEN = ("sign-in", "sign-out", "home", "healthz", "readyz")
#: Each with a matrix of its own: in test_{home,system,run_pages,commands,log_page,exports,zones,
#: erasure_pages,retention_page,polls}.py.
ELSEWHERE = ("behind", "system", "metrics", "differences", "fork", "acts", "exports", "export", "time-zone", "erasures",
             "erasure", "retention", "retention-change", "legal-holds", "counts")  # fmt: skip


def address(name: str, gate: Gate) -> str:
    gates = ("gate", "payload", "facts", "alike", "alike-decisions", "decisions", "answers")
    of: dict[str, list[Any]] = {
        **{key: [gate.pk] for key in gates},
        **{key: [gate.effect.key] for key in ("effect", "verdicts", "look-ups")},
        **{key: [] for key in BARE},
        **{key: [1] for key in ("run-view-deletions", "hold-liftings", "erasure-withdrawals")},
    }
    if name in ("statement", "statement-explanations"):
        there = VendorStatement.objects.first() or stated.made(Finding.VENDOR_ALONE)
        of[name] = [there.pk]
    if name in ("bulk-act", "bulk-starts", "bulk-stops"):
        of[name] = [bulk_of(gate)]
    if name in ("export-stops", "export-deletions", "export-downloads"):
        of[name] = [factories.export_of("starter").pk]
    if name.startswith("dossier-"):
        subject = Subject.objects.filter(effect=gate.effect)[0].hash
        about = {"run": gate.effect.run.ref, "subject": subject}
        of |= {name: [about.get(name.split("-")[1], gate.effect.key)]}
    needs_ref = name in POSTS or name in RUN_PAGES
    return reverse(name, args=of.get(name, [gate.effect.run.ref] if needs_ref else []))


def bulk_of(gate: Gate) -> int:
    """A bulk act that is under way and about the gate's run."""
    run = gate.effect.run
    made, new = BulkAct.objects.get_or_create(
        act="holds", total=1, state="going", person=User.objects.get_or_create(username="starter")[0]
    )
    if new:
        BulkResult.objects.create(bulk=made, run=run)
    return made.pk


def test_the_matrix_knows_every_address_of_the_urlconf() -> None:
    assert sorted(names()) == sorted({*LISTS, *OBJECTS, *POSTS, *OPEN, *ELSEWHERE})


@pytest.mark.parametrize("name", [*LISTS, *OBJECTS])
@pytest.mark.parametrize("who", [*factories.ROLES, "nobody"])
def test_every_page_by_every_role(name: str, who: str, sign_in: SignIn) -> None:
    gate = factories.gate()
    client = Client() if who == "nobody" else sign_in(factories.person(who))
    before = world()
    status = client.get(address(name, gate)).status_code
    expected = {"nobody": 302, "charlie": 403}.get(who, 200)
    assert (status, world() == before) == (expected, True)


@pytest.mark.parametrize("name", [name for name in POSTS if name in names()])
@pytest.mark.parametrize("who", ["olga", "nobody"])
def test_an_act_has_one_method_and_whoever_looks_at_its_address_is_led_to_what_it_is_about(
    name: str, who: str, sign_in: SignIn
) -> None:
    gate = factories.gate()
    client = Client() if who == "nobody" else sign_in(factories.person(who))
    before = world()
    for method in ("get", "head"):  # a refused act leaves its address in the browser
        assert getattr(client, method)(address(name, gate)).status_code == 303
    for method in ("put", "delete", "patch"):
        assert getattr(client, method)(address(name, gate)).status_code == 405
    assert world() == before


@pytest.mark.parametrize("name", [name for name in POSTS if name in names()])
@pytest.mark.parametrize("who", [*factories.ROLES, "nobody"])
def test_no_act_is_done_without_a_right(name: str, who: str, sign_in: SignIn) -> None:
    gate = factories.gate()
    client = Client() if who == "nobody" else sign_in(factories.person(who))
    before = world()
    answer = client.post(address(name, gate))
    # An empty form: who has the right is told what is wrong, all others that they may not.
    told = {
        "decisions": {"alice": 422, "bob": 422, "olga": 422, "rita": 422, "ada": 422},
        "alike-decisions": {"alice": 422, "bob": 422, "olga": 422, "rita": 422, "ada": 422},
        "answers": {"olga": 409},
        "look-ups": {"olga": 409},
        # Everybody who sees runs has views of their own, and none of somebody else's.
        "run-views": dict.fromkeys((*READERS, "bob"), 422),
        "run-view-deletions": dict.fromkeys((*READERS, "bob"), 404),
        "bulk-stops": {"olga": 303},
        "bulk-starts": {"olga": 422},
        "retention-policies": {"ada": 422},
        "hold-orders": {"rita": 422, "ada": 422},
        "hold-liftings": {"rita": 409, "ada": 409},
        # A file is taken, which changes nothing; a vendor may be asked by whoever reads the ledger.
        **{f"{one}-files": {"rita": 200, "ada": 200} for one in DOSSIERS},
        "dossier-look-ups": dict.fromkeys((*READERS, "bob"), 200),
        "erasure-looks": {"ada": 422},
        "erasure-requests": {"ada": 422},
        "erasure-withdrawals": {"ada": 404},
        "time-zone-choices": dict.fromkeys((*READERS, "bob"), 422),
        # An export of nothing is not there, and nobody has somebody else's.
        "export-requests": {"rita": 404, "ada": 404},
        **{
            f"export-{one}": dict.fromkeys((*READERS, "bob"), 404)
            for one in ("stops", "deletions", "downloads")
        },
        **{f"statement-{one}": {"rita": 422, "ada": 422} for one in ("requests", "explanations")},
    }
    stranger = 404 if name in OWN else 403
    expected = {"nobody": 302, "charlie": stranger}.get(who) or told.get(name, {"olga": 422}).get(who, 403)
    assert (answer.status_code, world() == before) == (expected, True)


def test_the_gate_page_shows_what_will_be_sent_and_masks_what_is_secret(sign_in: SignIn) -> None:
    gate = factories.gate(iban="DE02120300000000202051", note="as agreed")
    page = sign_in(factories.person("alice")).get(reverse("gate", args=[gate.pk])).content.decode()
    for shown in (
        "184.50",
        "8812",
        "as agreed",
        gate.digest,
        "2051 (masked)",
        "an amount above 100 EUR needs a person",
    ):
        assert shown in page, shown
    assert "DE0212030000" not in page


def test_a_signed_in_page_is_kept_by_no_cache(sign_in: SignIn) -> None:
    answer = sign_in(factories.person("alice")).get(reverse("gates"))
    assert "no-store" in answer["Cache-Control"]


def test_somebody_switched_off_is_led_to_the_sign_in(sign_in: SignIn) -> None:
    alice = factories.person("alice")
    client, gate = sign_in(alice), factories.gate()
    User.objects.filter(pk=alice.pk).update(is_active=False)
    before = world()
    for answer in (client.get(reverse("gates")), client.post(reverse("decisions", args=[gate.pk]))):
        assert answer.status_code == 302 and answer["Location"].startswith("/sign-in/")
    assert world() == before


def test_badge_list_and_overview_agree_at_all_times(sign_in: SignIn) -> None:
    olga = sign_in(factories.person("olga"))
    gates = [factories.gate() for _ in range(3)]
    Gate.objects.filter(pk=gates[0].pk).update(state="expired")
    for left in (2, 1, 0):
        page = olga.get(reverse("gates"))
        items = [
            item for group in page.context["nav"] for item in group["items"] if item["url_name"] == "gates"
        ]
        assert page.context["queue"]["total"] == left
        assert items[0]["count"] == str(left)
        assert olga.get("/").context["expiring_total"] == str(left)
        assert olga.get(reverse("runs"), {"state": "gate"}).context["page"]["shown"] >= left
        Gate.objects.filter(pk__in=Gate.objects.filter(state="open").values("pk")[:1]).update(
            state="withdrawn"
        )


def test_the_inbox_stands_by_risk_then_by_what_is_due_soonest(sign_in: SignIn) -> None:
    late, soon = factories.gate(), factories.gate()
    Gate.objects.filter(pk=soon.pk).update(decide_by=soon.decide_by - timedelta(hours=5))
    claim = factories.running()
    letter = Gate.objects.get(
        effect=factories.propose(claim, factories.post_letter, to="ann@example.com", text="hello")
    )
    page = sign_in(factories.person("alice")).get(reverse("gates"))
    assert page.context["queue"]["ids"] == [letter.pk, soon.pk, late.pk]


@pytest.mark.parametrize("name", [*LISTS, "home"])
def test_a_list_asks_as_many_queries_for_forty_rows_as_for_one(name: str, sign_in: SignIn) -> None:
    olga = sign_in(factories.person("olga"))
    factories.gate()
    olga.get(reverse(name))
    with CaptureQueriesContext(connection) as few:
        olga.get(reverse(name))
    for _ in range(39):
        factories.gate()
    with CaptureQueriesContext(connection) as many:
        olga.get(reverse(name))
    assert len(many) == len(few) <= 25


@pytest.mark.parametrize("nonsense", ["x", "-1", "9" * 30, "1_2_3", "1_2026-11-29_x", "\x00"])
@pytest.mark.parametrize("name", LISTS)
def test_nonsense_in_an_address_shows_a_page_and_no_error(name: str, nonsense: str, sign_in: SignIn) -> None:
    factories.gate()
    alice = sign_in(factories.person("alice"))
    for field in ("after", "before", "state", "q", "seen"):
        assert alice.get(reverse(name), {field: nonsense}).status_code == 200, field


def test_the_ledger_finds_an_effect_by_key_and_by_order_but_stores_no_order(sign_in: SignIn) -> None:
    gate, other = factories.gate(), factories.gate()
    alice = sign_in(factories.person("alice"))
    by_key = alice.get(reverse("ledger"), {"q": gate.effect.key}).context["effects"]
    assert [row["key"] for row in by_key] == [gate.effect.key]
    by_order = alice.get(reverse("ledger"), {"q": " 8812 "}).context["effects"]
    assert {row["key"] for row in by_order} == {gate.effect.key, other.effect.key}
    assert alice.get(reverse("ledger"), {"q": "8813"}).context["effects"] == []


def test_a_poll_of_what_is_unchanged_swaps_nothing(sign_in: SignIn) -> None:
    gate = factories.gate()
    alice = sign_in(factories.person("alice"))
    htmx = {"HX-Request": "true"}
    version = alice.get(reverse("gates")).context["queue"]["version"]
    assert alice.get(reverse("gates"), {"seen": version}, headers=htmx).status_code == 204
    Gate.objects.filter(pk=gate.pk).update(state="withdrawn")
    answer = alice.get(reverse("gates"), {"seen": version}, headers=htmx)
    assert answer.status_code == 200 and b"<html" not in answer.content


def test_refused_attempts_stand_in_the_runs_log(sign_in: SignIn) -> None:
    gate = factories.gate("alice")
    alice = sign_in(factories.person("alice"))
    alice.post(
        reverse("decisions", args=[gate.pk]), {"verdict": "approve", "digest": gate.digest, "round": 1}
    )
    assert LedgerEvent.objects.filter(kind="refused decision").count() == 1
    page = alice.get(reverse("run", args=[gate.effect.run.ref])).content.decode()
    assert "tried to decide and was refused" in page


@pytest.mark.parametrize(("error", "status"), [(OperationalError("away"), 503), (KeyError("a fault"), 500)])
def test_a_page_that_cannot_be_made_says_so_in_the_theme_that_the_person_chose(
    error: Exception, status: int, sign_in: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any, **__: Any) -> None:
        raise error

    alice = sign_in(factories.person("alice"))
    alice.raise_request_exception = False
    alice.cookies["theme"] = "dark"
    monkeypatch.setattr(inbox, "queue", fails)
    answer = alice.get(reverse("gates"))
    assert answer.status_code == status
    assert '<html lang="en" data-theme="dark">' in answer.content.decode()
