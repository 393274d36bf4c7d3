"""Answers to gates as tests give them."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

from django.contrib.auth.models import User

from approvals.decisions import Answer, Circumstances, decide
from approvals.models import Decision, Gate
from approvals.states import Verdict
from durable.clock import db_now
from durable.models import LedgerEvent

#: How a moment reads in a sentence, as a pattern: with its day too, if midnight has come since.
MOMENT = r"(\d{1,2} [A-Z][a-z]{2}( \d{4})?, )?\d\d:\d\d:\d\d UTC"
HERE = Circumstances(ip="192.0.2.7", browser="test", authenticated="session")
APPROVE, REJECT, EDIT, ASK_BACK = Verdict.APPROVE, Verdict.REJECT, Verdict.EDIT, Verdict.ASK_BACK


def answer(person: User, gate: Gate, verdict: Verdict = APPROVE, words: str = "", **more: Any) -> Decision:
    """What a page of this gate would post."""
    if verdict in (REJECT, ASK_BACK) and not words:
        words = "wrong order"
    given = {"digest": gate.digest, "round": gate.round, **more}
    return decide(person, gate.pk, Answer(verdict, words=words, **given), HERE)


def past(gate: Gate) -> None:
    """Decide-by was a second ago."""
    Gate.objects.filter(pk=gate.pk).update(decide_by=db_now() - timedelta(seconds=1))


def refusals(gate: Gate) -> list[dict[str, Any]]:
    """Which refused attempts the ledger holds."""
    events = LedgerEvent.objects.filter(run_ref=gate.effect.run.ref, kind="refused decision").order_by("no")
    return [{"actor": event.actor, **json.loads(event.body)} for event in events]


def edited(gate: Gate, by: User, amount: str = "120") -> Gate:
    answer(by, gate, EDIT, args={"order": "8812", "amount": amount, "currency": "EUR"}, words="partial")
    return Gate.objects.select_related("effect__run").get(effect=gate.effect, round=gate.round + 1)
