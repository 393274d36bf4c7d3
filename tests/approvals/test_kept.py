"""What is kept of answers and refusals, and what is shown where code or secrets can't be."""

from __future__ import annotations

import json
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import transaction
from django.urls import reverse

from approvals.errors import Refused, Stale
from approvals.models import Decision, Gate
from approvals.queries import home
from durable.clock import db_now
from durable.models import LedgerEvent, Run
from durable.states import RunState
from durable.transitions import lock_run, move_run
from tests import factories
from tests.approvals.answering import APPROVE, EDIT, REJECT, answer, edited, refusals
from tests.approvals.conftest import SignIn

pytestmark = pytest.mark.django_db


def test_an_edits_event_names_its_gate_and_decision() -> None:
    alice, gate = factories.person("alice"), factories.gate()
    edited(gate, alice)
    body = json.loads(LedgerEvent.objects.get(effect_key=gate.effect.key, kind="edited").body)
    decision = Decision.objects.get(gate=gate)
    assert (body["gate"], body["decision"]) == (gate.pk, decision.pk)
    assert (body["round"], body["digest_before"]) == (2, gate.digest)


def test_the_same_refused_attempt_is_kept_once() -> None:
    rita, gate = factories.person("rita"), factories.gate()
    for verdict in (APPROVE, APPROVE, REJECT):
        with pytest.raises(Refused):
            answer(rita, gate, verdict)
    assert [(one["actor"], one["why"]) for one in refusals(gate)] == [("rita", "refused")]


def test_another_person_reason_or_round_is_another_attempt() -> None:
    alice, rita, ada = (factories.person(name) for name in ("alice", "rita", "ada"))
    gate = factories.gate()
    for person in (rita, ada, rita):
        with pytest.raises(Refused):
            answer(person, gate)
    for _ in range(2):
        with pytest.raises(Stale):
            answer(alice, gate, digest="f" * 64)
    second = edited(gate, alice)
    with pytest.raises(Refused):
        answer(rita, second)
    assert [(one["actor"], one["why"], one["round"]) for one in refusals(gate)] == [
        ("rita", "refused", 1),
        ("ada", "refused", 1),
        ("alice", "stale", 1),
        ("rita", "refused", 2),
    ]


def with_iban(iban: str) -> tuple[Gate, dict[str, Any]]:
    return factories.gate(iban=iban), {"order": "8812", "amount": "184.50", "currency": "EUR"}


def test_a_changed_secret_says_that_it_changed_and_not_how() -> None:
    alice, bob = factories.person("alice"), factories.person("bob")
    gate, args = with_iban("DE02120300000000202051")
    answer(alice, gate, EDIT, args={**args, "iban": "DE99990300000000202051"}, words="another account")
    with pytest.raises(Stale) as refused:
        answer(bob, gate)
    (change,) = refused.value.differences
    assert (change.name, change.shown) == ("iban", "••••2051 (masked)")
    assert change.current == "••••2051 (masked), changed (hidden)"


def test_an_unchanged_secret_is_no_difference() -> None:
    alice, bob = factories.person("alice"), factories.person("bob")
    gate, args = with_iban("DE02120300000000202051")
    answer(alice, gate, EDIT, args={**args, "amount": "120", "iban": "DE02120300000000202051"})
    with pytest.raises(Stale) as refused:
        answer(bob, gate)
    assert [change.name for change in refused.value.differences] == ["amount"]


@pytest.mark.parametrize(
    "source", ["import no_such_library", "def broken(:", "raise RuntimeError('bad deploy')"]
)
def test_a_run_is_shown_while_an_agents_module_is_broken(
    source: str, sign_in: SignIn, settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken_agents.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    settings.INTERLOCK_AGENTS = (*settings.INTERLOCK_AGENTS, "broken_agents")
    gate, olga = factories.gate(), sign_in(factories.person("olga"))
    page = olga.get(reverse("run", args=[gate.effect.run.ref]))
    assert page.status_code == 200 and "broken_agents" not in sys.modules
    assert [step["name"] for step in page.context["plan"]] == ["pay"]
    for name in ("home", "runs", "tools", "ledger", "gates"):
        assert olga.get(reverse(name), follow=name == "gates").status_code == 200, name


def test_home_tells_of_a_run_that_fell_asleep_lately() -> None:
    claim, olga = factories.running(), factories.person("olga")
    with transaction.atomic():
        move_run(lock_run(claim.run_ref), RunState.SUSPENDED)
    sleeping = reverse("behind", args=["sleeping"])
    asleep = {"ok": False, "words": "1 suspended without an open wait", "href": sleeping}
    assert asleep in home.standing(olga)["health"]
    Run.objects.filter(pk=claim.run_id).update(changed_at=db_now() - timedelta(hours=2))
    assert asleep not in home.standing(olga)["health"]
