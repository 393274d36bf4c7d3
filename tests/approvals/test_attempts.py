"""Refused attempts and sign-ins stand in the log: who, on what, which right was missing; and nobody fills the disk."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.db.models import F
from django.test import Client
from django.urls import reverse

from approvals import attempts, tasks
from approvals.capabilities import Capability
from approvals.models import Gate, Tried
from approvals.states import Verdict
from tests import factories
from tests.approvals.answering import answer
from tests.approvals.conftest import SignIn
from tests.logged import Told, full, told

pytestmark = pytest.mark.django_db
SECRET = "canary-password"


def refusals() -> list[Told]:
    return told("refused", "more refused", "sign-in refused", "refused decision")


#: By each capability: what somebody without it asks for, by the name of the address, and whether it is an act.
WANTS: dict[Capability, tuple[str, bool]] = {
    Capability.SEE_GATES: ("gates", False),
    Capability.DECIDE: ("decisions", True),
    Capability.ANSWER_BACK: ("answers", True),
    Capability.SEE_RUNS: ("runs", False),
    Capability.STEER_RUNS: ("holds", True),
    Capability.EDIT_STATE: ("state", True),
    Capability.SEE_LEDGER: ("ledger", False),
    Capability.SETTLE: ("verdicts", True),
    Capability.SEE_TOOLS: ("tools", False),
    Capability.SEE_SYSTEM: ("system", False),
    Capability.SEE_LOG: ("acts", False),
    Capability.EXPORT: ("dossier-effect-files", True),
    Capability.STATEMENTS: ("statement-requests", True),
    Capability.SET_RETENTION: ("retention-policies", True),
    Capability.HOLD_LEGALLY: ("hold-orders", True),
    Capability.ERASE: ("erasure-requests", True),
}


def over() -> None:
    """All whiles are over."""
    Tried.objects.update(until=F("until") - timedelta(days=2000))


def form(name: str, gate: Gate) -> dict[str, Any]:
    forms: dict[str, dict[str, Any]] = {
        "decisions": {"verdict": "approve", "digest": gate.digest, "round": 1},
        "answers": {"reason": "order 8812"},
    }
    return forms.get(name, {"reason": "x"})


#: Who lacks a right that an auditor has.
_WITHOUT = dict.fromkeys((Capability.EXPORT, Capability.STATEMENTS, Capability.HOLD_LEGALLY), "alice")


def test_each_capability_has_its_attempt() -> None:
    assert set(WANTS) == set(Capability)


@pytest.mark.parametrize("right", WANTS, ids=lambda right: right.value)
def test_what_is_refused_for_want_of_a_right_is_logged_with_the_right(
    right: Capability, sign_in: SignIn
) -> None:
    name, acts = WANTS[right]
    gate = factories.gate()
    if right is Capability.ANSWER_BACK:
        answer(factories.person("alice"), gate, Verdict.ASK_BACK, words="which order?")
    who = factories.person(_WITHOUT.get(right, "rita" if acts else "charlie"))
    client = sign_in(who)
    where = {"decisions": gate.pk, "answers": gate.pk, "holds": gate.effect.run.ref, "state": gate.effect.run.ref,
             "verdicts": gate.effect.key, "dossier-effect-files": gate.effect.key}.get(name)  # fmt: skip
    address = reverse(name, args=[where] if where else [])
    status = (client.post(address, form(name, gate)) if acts else client.get(address)).status_code
    (act,) = refusals()
    assert (status, act.actor) == (403, who.username)
    if right is Capability.DECIDE:  # in the run's own chain, as all that is answered at its gates
        assert (act.kind, act.about, act.concerns) == (
            "refused decision",
            gate.effect.run.ref,
            gate.effect.key,
        )
        assert "right to decide at gates" in act.body["said"]
        return
    assert (act.kind, act.about, act.body["right"]) == ("refused", f"person:{who.pk}", right.value)
    assert (act.body["address"], act.body["method"]) == (name, "POST" if acts else "GET")
    assert act.concerns == {"answers": f"gate:{gate.pk}"}.get(name, str(where) if where else "")


def test_an_act_on_what_is_not_there_is_logged_and_a_look_at_it_is_not(sign_in: SignIn) -> None:
    rita, nowhere = sign_in(factories.person("rita")), 10**9
    rita.post(reverse("decisions", args=[nowhere]))
    rita.get(reverse("gate", args=[nowhere]))
    rita.post(reverse("holds", args=["secret words of somebody"]))
    first, second = refusals()
    assert (first.body["why"], first.concerns) == ("no such gate", f"gate:{nowhere}")
    assert (second.body["why"], second.concerns) == ("no such run", "")
    assert "secret words" not in repr(refusals())


def test_a_form_from_elsewhere_is_logged_whoever_sends_it() -> None:
    alice = factories.person("alice")
    inside, outside = Client(enforce_csrf_checks=True), Client(enforce_csrf_checks=True)
    inside.force_login(alice)
    run = factories.gate().effect.run
    for client in (inside, outside):
        assert client.post(reverse("holds", args=[run.ref])).status_code == 403
    mine, nobodys = refusals()
    assert (mine.actor, mine.about) == ("alice", f"person:{alice.pk}")
    assert (nobodys.actor, nobodys.about) == ("(not signed in)", "strangers")
    assert {mine.concerns, nobodys.concerns} == {run.ref}


def test_what_somebody_does_who_has_not_signed_in_is_logged_and_what_they_look_at_is_not() -> None:
    run = factories.gate().effect.run
    Client().get(reverse("run", args=[run.ref]))
    Client().post(reverse("holds", args=[run.ref]))
    (act,) = refusals()
    assert (act.about, act.body["why"], act.concerns) == ("strangers", "not signed in", run.ref)


# Bounds


@pytest.fixture
def one_while(monkeypatch: pytest.MonkeyPatch) -> None:
    """However slow the machine, all of it within one while."""
    monkeypatch.setattr(attempts, "WHILE", "1000 days")


def test_the_same_attempt_is_listed_once_and_its_number_told_when_the_hour_is_over(sign_in: SignIn) -> None:
    charlie = sign_in(factories.person("charlie"))
    for _ in range(30):  # a page left open that polls
        charlie.get(reverse("ledger"))
    charlie.get(reverse("tools"))
    assert [act.body["address"] for act in refusals()] == ["ledger", "tools"]
    attempts.tell()
    assert len(refusals()) == 2
    over()
    attempts.tell()
    (more,) = told("more refused")
    assert (more.body["count"], more.body["address"], more.actor) == (29, "ledger", "charlie")
    assert not Tried.objects.exists()


@pytest.mark.usefixtures("one_while")
def test_of_one_person_ten_attempts_a_minute_are_listed_and_the_rest_is_counted(sign_in: SignIn) -> None:
    charlie = sign_in(factories.person("charlie"))
    for n in range(25):
        charlie.post(reverse("holds", args=[f"run-no{n}"]))
    assert len(refusals()) == attempts.EACH
    assert Tried.objects.count() == attempts.EACH + 1
    over()
    assert attempts.tell() == attempts.EACH + 1
    (more,) = told("more refused")
    assert more.body["count"] == 25 - attempts.EACH


@pytest.mark.usefixtures("one_while")
def test_strangers_of_however_many_addresses_come_to_sixty_lines_a_minute_and_no_more_rows() -> None:
    run = factories.gate().effect.run
    for n in range(attempts.EACH + 5):
        Client(REMOTE_ADDR=f"10.0.{n // 250}.{n % 250}").post(reverse("holds", args=[run.ref]))
    assert len(refusals()) == 1  # the same attempt, of whoever
    for n in range(attempts.STRANGERS + 5):
        Client(REMOTE_ADDR=f"10.0.{n // 250}.{n % 250}").post(reverse("holds", args=[f"run-no{n}"]))
    assert len(refusals()) == attempts.STRANGERS
    assert len({act.concerns for act in refusals()}) == attempts.STRANGERS
    listed = Tried.objects.count()
    for n in range(5):
        Client(REMOTE_ADDR=f"10.9.9.{n}").post(reverse("holds", args=[f"run-never{n}"]))
    assert Tried.objects.count() == listed


@pytest.mark.django_db(transaction=True)
def test_the_task_that_looks_for_what_is_left_tells_the_log(sign_in: SignIn) -> None:
    charlie = sign_in(factories.person("charlie"))
    for _ in range(3):
        charlie.get(reverse("ledger"))
    over()
    tasks.carry_on()
    assert [act.body["count"] for act in told("more refused")] == [2]


# Sign-ins


def test_coming_in_and_going_out_are_logged_with_where_from_which_is_sealed() -> None:
    alice = factories.person("alice")
    client = Client(REMOTE_ADDR="192.0.2.44", headers={"User-Agent": "Firefox of Alice"})
    data = {"username": "alice", "password": factories.PASSWORD}
    assert client.post(reverse("sign-in"), data).status_code == 302
    assert client.post(reverse("sign-out")).status_code == 302
    came, went = told("signed in", "signed out")
    assert {came.actor, went.actor} == {"alice"}
    assert {came.about, went.about} == {f"person:{alice.pk}"}
    assert came.said == "from 192.0.2.44, Firefox of Alice"
    assert "192.0.2.44" not in repr([one.body for one in told()])


def test_of_a_name_that_nobody_bears_only_a_keyed_hash_is_kept() -> None:
    bob = factories.person("bob")
    User.objects.filter(pk=bob.pk).update(is_active=False)
    for name, password in (
        ("bob", factories.PASSWORD),
        (SECRET, "x"),
        (f" {SECRET.upper()}", "x"),
        ("b\x00b", "x"),
    ):
        Client().post(reverse("sign-in"), {"username": name, "password": password})
    known, first, second = refusals()
    assert (known.about, known.body["why"]) == (f"person:{bob.pk}", "switched off")
    assert first.about == second.about == "strangers"
    assert first.body["name_hash"] == second.body["name_hash"]
    assert SECRET not in repr(told()).lower()


@pytest.mark.usefixtures("one_while")
def test_who_guesses_passwords_is_listed_ten_times_a_minute_and_counted_then() -> None:
    alice = factories.person("alice")
    for n in range(15):
        Client().post(reverse("sign-in"), {"username": "alice", "password": f"guess {n}"})
    found = refusals()
    assert len(found) == attempts.EACH
    assert {act.about for act in found} == {f"person:{alice.pk}"}
    over()
    attempts.tell()
    assert told("more refused")[0].body["count"] == 5


def test_a_hash_that_is_renewed_at_the_sign_in_is_told_as_that(settings: Any) -> None:
    factories.person("alice")
    slow = "django.contrib.auth.hashers.PBKDF2PasswordHasher"
    settings.PASSWORD_HASHERS = [slow, *settings.PASSWORD_HASHERS]
    Client().post(reverse("sign-in"), {"username": "alice", "password": factories.PASSWORD})
    (act,) = told("person changed")
    assert (act.actor, act.change) == ("(sign-in)", ({}, {"password": "stored anew"}))


@pytest.mark.django_db(transaction=True)
def test_nobody_comes_in_or_goes_out_past_the_log() -> None:
    factories.person("alice")
    client = Client(raise_request_exception=False)
    data = {"username": "alice", "password": factories.PASSWORD}
    with full():
        assert client.post(reverse("sign-in"), data).status_code == 500
    assert not Session.objects.exists() and client.get(reverse("gates")).status_code == 302
    assert client.post(reverse("sign-in"), data).status_code == 302
    with full():
        assert client.post(reverse("sign-out")).status_code == 500
    assert client.get(reverse("gates")).status_code == 200


@pytest.mark.django_db(transaction=True)
def test_what_an_operator_orders_is_undone_where_it_cannot_be_logged(sign_in: SignIn) -> None:
    olga = sign_in(factories.person("olga"))
    run = factories.gate().effect.run
    olga.raise_request_exception = False
    views = {"q": "status:stuck", "name": "mine"}
    with full():
        assert olga.post(reverse("run-views"), views).status_code == 500
        assert olga.post(reverse("bulk-drafts"), {"act": "holds", "run": [run.ref]}).status_code == 500
    assert olga.get(reverse("bulk-acts")).context["acts"] == []
    assert olga.get(reverse("runs")).context["saved"] == []
