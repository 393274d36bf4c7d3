"""What the ledger's events of an effect say, word for word: they are read years later, by programs of others too."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

from durable import claims, journal
from durable.models import Run, Subject
from tests.engine import desk, people, tools
from tests.engine.scenes import refund
from tests.vendors import Vendor

pytestmark = pytest.mark.usefixtures("kit")


class _Given:
    """In place of what differs from run to run: anything but nothing."""

    def __eq__(self, other: object) -> bool:
        return bool(other)

    def __hash__(self) -> int:
        return 0


GIVEN: Any = _Given()
SENT = {"attempt": 1, "digest": GIVEN, "round": 1, "send": 1, "within_ms": GIVEN}
INTENT = {
    "about": GIVEN,
    "amount_minor": 4000,
    "attempt": 1,
    "class": "idempotent",
    "currency": "EUR",
    "digest": GIVEN,
    "tool": "keyed",
    "tool_version": 1,
}
APPLIED = {"amount_minor": 4000, "currency": "EUR", "digest": GIVEN, "receipt": GIVEN}


def told(run: Run, key: str = "pay") -> list[tuple[str, str, dict[str, Any]]]:
    """Kind, who (of workers only that it was one), and body of each event."""
    workers = set(run.attempts.values_list("worker", flat=True))
    return [
        (event.kind, "worker" if event.actor in workers else event.actor, json.loads(event.body))
        for event in journal.events(run.ref, effect_key=f"{run.ref}:{key}")
    ]


def test_an_act_that_is_answered_at_once(vendor: Vendor) -> None:
    run = desk.drive(refund(vendor))
    assert told(run) == [
        ("intent", "worker", INTENT),
        ("sent", "worker", SENT),
        ("applied", "worker", APPLIED),
    ]
    digest = tools.effect(run).digest
    assert [body["digest"] for _, _, body in told(run)] == [digest] * 3
    assert told(run)[-1][2]["receipt"] == tools.effect(run).receipt_id
    # By hand: the key, what may happen once, and a line of kind and keyed hash for each whom it is about.
    filed = Subject.objects.filter(run=run).values_list("kind", "hash")
    lines = [f"{run.ref}:pay", "", *sorted(f"{kind} {hash}" for kind, hash in filed)]
    by_hand = hashlib.sha256("\n".join(lines).encode()).hexdigest()
    assert told(run)[0][2]["about"] == by_hand


def test_an_act_that_is_refused_for_good(vendor: Vendor) -> None:
    vendor.fault("status", status=402, method="POST", path="/v1/refunds")
    run = desk.drive(refund(vendor))
    assert told(run)[2:] == [("failed", "worker", {"code": "card_declined", "words": GIVEN})]
    assert tools.words(run, "failed") in tools.effect(run).failure


def test_an_act_that_is_refused_once_its_first_request_was_not_answered(vendor: Vendor) -> None:
    vendor.fault("hang", seconds=0, method="POST", path="/v1/refunds")
    vendor.fault("status", status=400, method="POST", path="/v1/refunds", times=0)
    run = desk.drive(refund(vendor))
    for _ in range(12):
        tools.later(run, minutes=1)
    assert {who for kind, who, _ in told(run) if kind in ("no answer", "looked up")} == {"worker"}
    kinds = [(kind, set(body)) for kind, _, body in told(run)]
    assert kinds[:3] == [("intent", set(INTENT)), ("sent", set(SENT)), ("no answer", {"saved", "words"})]
    assert ("looked up", {"found"}) in kinds and ("no answer", {"refused", "words"}) in kinds
    assert {body["found"] for kind, _, body in told(run) if kind == "looked up"} <= {
        "nothing",
        "absent",
        "none",
    }
    assert [kind for kind, _ in kinds[-2:]] == ["in doubt", "attention"] and kinds[-2][1] == {"reason"}
    assert tools.words(run, "no answer")


def test_an_act_whose_answer_came_after_the_lease(vendor: Vendor) -> None:
    run = refund(vendor)

    def sleep(*_: object) -> None:
        tools.after.clear()
        desk.time_passes(minutes=5)
        assert claims.claim(run.ref) is not None

    tools.after.append(sleep)
    desk.drive(run)
    tools.later(run, minutes=5)
    assert [(kind, body) for kind, _, body in told(run)[2:]] == [
        ("late answer", {"receipt": tools.effect(run).receipt_id}),
        ("adopted", APPLIED),
    ]


def test_an_act_that_people_let_out(vendor: Vendor) -> None:
    tools.asks((tools.letter, {"to": "ada@example.org"}))
    run = desk.drive(tools.start())
    people.say(run, words="")
    desk.drive(run)
    kinds = [(kind, who, set(body)) for kind, who, body in told(run)]
    assert kinds == [
        ("intent", "worker", {"about", "attempt", "class", "digest", "tool", "tool_version"}),
        ("gated", "interlock", {"digest", "round", "words"}),
        ("approved", "alice", {"digest", "round", "gate", "decision", "before", "after"}),
        ("sent", "worker", set(SENT)),
        ("applied", "worker", {"digest", "receipt"}),
    ]
