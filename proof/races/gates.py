"""Races over one gate: two people, a person and the clock, a person and an operator's cancel."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal
from functools import partial
from typing import Any

from django.contrib.auth.models import User

from approvals.models import Gate
from approvals.states import FINAL_VALUES, GateState, Verdict
from durable import journal, recovery
from durable.errors import Conflict
from durable.models import Effect, Run, Wait
from durable.models.fields import Clock
from durable.states import EffectState, EventKind, WaitState
from proof.races import cast, unguarded
from proof.races.ground import EDITED, LARGE, Ground, drive, say
from proof.races.harness import Beaten, Control, Outcome, Played, Race

#: Of so many runs one is driven to its end, and the vendor's book read: the others are judged by their rows.
DRIVEN = 5
#: Gates that one run waits at. Rounds come one after the other, and each is about another gate.
TOGETHER = 10
#: How the engine's words name what each side has done.
_ENDS = {
    "approve": (EffectState.APPROVED, EventKind.APPROVED),
    "reject": (EffectState.REJECTED, EventKind.REJECTED),
    "edit": (EffectState.GATED, EventKind.EDITED),
    "clock": (EffectState.EXPIRED, EventKind.EXPIRED),
}
_CHANGES = [kind for _, kind in _ENDS.values()]


@dataclass(frozen=True)
class Asked:
    """A gate at which a run waits, for a refund of `charge`."""

    run: Run
    gate: Gate
    charge: str
    people: tuple[User, User]
    held: threading.Event = field(default_factory=threading.Event)


def prepare(ground: Ground, rounds: int, *, together: int = TOGETHER) -> list[Asked]:
    """Gates that are asked about, up to so many of them by one run: most of a round's time goes into its run."""
    found: list[Asked] = []
    while len(found) < rounds:
        charges = [ground.order()["charge"] for _ in range(min(together, rounds - len(found)))]
        run = ground.start(cast.Refunds.name, order=ground.name(), charges=charges, amount=LARGE)
        drive([run])
        gates = Gate.objects.select_related("effect__run", "wait").filter(effect__run=run)
        by_place = zip(gates.order_by("effect__ordinal"), charges, strict=True)
        found += [Asked(run, gate, charge, ground.reviewers) for gate, charge in by_place]
    return found


def answers(verdict: Verdict, who: int, asked: Asked) -> str:
    """One of the two reviewers answers what their screen shows."""
    more: dict[str, Any] = {}
    if verdict is Verdict.EDIT:
        about = {"order": asked.run.input["order"], "charge": asked.charge, "currency": "EUR"}
        more = {**about, "amount": str(EDITED)}
    return say(asked.people[who], asked.gate, verdict, **more).verdict


class _Soon:
    """Decide-by is so many seconds from now: more after a round that the clock has won, else less."""

    seconds = 0.01

    def __call__(self, asked: Asked) -> None:
        """Set it for the coming round."""
        Wait.objects.filter(pk=asked.gate.wait_id).update(deadline=Clock() + timedelta(seconds=self.seconds))
        asked.gate.wait.refresh_from_db()
        Gate.objects.filter(pk=asked.gate.pk).update(decide_by=asked.gate.wait.deadline)

    def clock(self, asked: Asked) -> None:
        """The sweeper comes by just as decide-by passes."""
        time.sleep(self.seconds)
        try:
            recovery._close(asked.gate.wait)
            state = Wait.objects.values_list("state", flat=True).get(pk=asked.gate.wait_id)
            if state != WaitState.EXPIRED:
                raise Beaten(f"the gate is {state}")
            self.seconds = min(self.seconds * random.uniform(1.0, 1.3), 0.2)
        except (Beaten, Conflict):
            self.seconds *= random.uniform(0.75, 1.0)
            raise


_soon = _Soon()


def judge(ground: Ground, played: Sequence[Played]) -> Iterator[str]:
    """One winner, one record of it, every loser told who won, and the money as the winner said."""
    for one in played:
        yield from _recorded(one)
    yield from _moved(ground, sample(played))


def sample(played: Sequence[Played]) -> list[Played]:
    """The rounds of every so manieth run."""
    refs = list(dict.fromkeys(one.item.run.ref for one in played))
    return [one for one in played if one.item.run.ref in refs[::DRIVEN]]


def _recorded(one: Played) -> Iterator[str]:
    asked: Asked = one.item
    where, won = asked.run.ref, one.winners
    if not won and "clock" in one.outcomes:
        recovery._close(asked.gate.wait)  # neither was in time: the next sweep ends it
        won = ["clock"]
    if len(won) != 1:
        yield f"{where}: {' and '.join(won) or 'nobody'} won"
        return
    effect = Effect.objects.get(pk=asked.gate.effect_id)
    state, kind = _ENDS[_verb(won[0])]
    if effect.state != state:
        yield f"{where}: {won[0]} won, and the effect is {effect.state}"
    told = [event.kind for event in journal.events(where, effect_key=effect.key) if event.kind in _CHANGES]
    if told != [kind]:
        yield f"{where}: {won[0]} won, and the ledger says {told}"
    said = asked.gate.decisions.filter(verdict__in=FINAL_VALUES).values_list("verdict", flat=True)
    if list(said) != ([] if won[0] == "clock" else [_verb(won[0])]):
        yield f"{where}: {won[0]} won, and the decisions are {list(said)}"
    for name, outcome in one.outcomes.items():
        if not outcome.won and name != "clock" and not _names(outcome, _verb(won[0]), asked):
            yield f"{where}: {won[0]} won, and {name} was told {outcome.words!r}"


def _verb(name: str) -> str:
    return name.split()[0]


def _names(outcome: Outcome, winner: str, asked: Asked) -> bool:
    """Whether a loser's words say who won, or what has changed since."""
    if winner == "edit":
        return "round 2" in outcome.words
    if winner == "clock":
        return "it expired at" in outcome.words or "had to be decided by" in outcome.words
    past = {"approve": "already approved by", "reject": "already rejected by"}[winner]
    people = [person.get_full_name() for person in asked.people]
    return past in outcome.words and any(name in outcome.words for name in people)


def _moved(ground: Ground, played: Sequence[Played]) -> Iterator[str]:
    """Drive runs to their ends, an edit approved by the other of the two, and hold the book against what was said."""
    expected: dict[str, list[Decimal]] = {}
    for one in played:
        asked: Asked = one.item
        won = _verb(one.winners[0]) if one.winners else "clock"
        if won == "edit":
            gate = Gate.objects.select_related("effect__run", "wait").get(
                effect=asked.gate.effect_id, state=GateState.OPEN.value
            )
            say(asked.people[0], gate, Verdict.APPROVE)
        amount = {"approve": [Decimal(LARGE)], "edit": [Decimal(EDITED)]}.get(won, [])
        expected[asked.charge] = amount
    drive({one.item.run.ref: one.item.run for one in played}.values())
    book = ground.moved()
    for one in played:
        asked = one.item
        if book[asked.charge] != expected[asked.charge]:
            yield f"{asked.run.ref}: {' and '.join(one.winners)} won, and the book says {book[asked.charge]}"


BLIND = Control("row locks and conditional updates", unguarded.checks_under_lock)
YES = partial(answers, Verdict.APPROVE, 0)

RACES = (
    Race(
        "approve/approve",
        prepare,
        {"approve": YES, "approve too": partial(answers, Verdict.APPROVE, 1)},
        judge,
        BLIND,
        sides={"approve": "approve", "approve too": "approve too"},
    ),
    Race(
        "approve/reject",
        prepare,
        {"approve": YES, "reject": partial(answers, Verdict.REJECT, 1)},
        judge,
        BLIND,
        sides={"approve": "approve", "reject": "reject"},
    ),
    Race(
        "approve/edit",
        prepare,
        {"approve": YES, "edit": partial(answers, Verdict.EDIT, 1)},
        judge,
        BLIND,
        sides={"approve": "approve", "edit": "edit"},
    ),
    Race(
        "approve/expire",
        prepare,
        {"approve": YES, "clock": _soon.clock},
        judge,
        BLIND,
        sides={"approve": "approve", "clock": "clock"},
        arrange=_soon,
    ),
)
