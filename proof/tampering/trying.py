"""One trial after the other: tamper in a transaction, verify in it, and roll all of it back."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import IntEnum

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.conf import settings

from durable.roots import signing, verify
from durable.roots.reading import Finding, settle
from durable.roots.verify import Report
from proof.report import Row, Say
from proof.tampering import hand, swapping
from proof.tampering.kinds import CHAINED, SWAPPED
from proof.tampering.ledger import Ledger


class Depth(IntEnum):
    """How far a superuser goes to hide what he has done."""

    ROWS = 0
    CHAINS = 1  # the run's chain and its head made anew
    ROOTS = 2  # and every root since, under a key of his own
    SIGNED = 3  # under our key: nothing in the database gives him away


@dataclass(frozen=True)
class Trial:
    """What is tried: the kind, how deep, and the number that makes it the same again."""

    kind: str
    depth: Depth
    number: int

    def __str__(self) -> str:
        return f"{self.kind}, {self.depth.name.lower()}, trial {self.number}"


@dataclass(frozen=True)
class Place:
    """Where a tampering must be found: an event, for whoever changed rows alone; else the root over it."""

    run: str
    no: int
    root: int = 0

    def named_by(self, found: Sequence[Finding]) -> bool:
        """Whether a finding names it."""
        if self.root:
            return any(one.root == self.root for one in found)
        return any(one.run == self.run and self.no in (0, one.no) for one in found)


def all_kinds(say: Say, ledger: Ledger, trials: int, seed: int) -> list[Row]:
    """Try each kind so often; each is a row, and so are the untampered ledger and the need of an outside root."""
    rows, hidden, control = [], [0, 0], _Control(ledger)
    for kind in (*CHAINED, SWAPPED):
        began, wrong, found = time.monotonic(), [], [0, 0, 0, 0]
        for number in range(trials):
            trial = Trial(kind, Depth(number % 4), number)
            chance = random.Random(f"{seed}:{kind}:{number}")
            if number % 10 == 0:
                control.look(chance)
            with tampered(ledger, trial, chance) as place:
                seen = verified(ledger, ledger.lines())
                if place.named_by(seen):
                    found[trial.depth] += 1
                else:
                    wrong.append(f"{trial}: {place} is not named by {[str(one) for one in seen]}")
                if trial.depth is Depth.SIGNED and trial.kind != "back-date":  # a moment may betray itself
                    hidden[0] += 1
                    hidden[1] += bool(verified(ledger, None, payloads=False))
        say(f"{kind}: {sum(found)} of {trials} found")
        remark = ", ".join(f"{depth.name.lower()} {found[depth]}" for depth in Depth)
        again = f"python -m proof.tampering --trials {trials}"
        rows.append(Row(kind, trials, tuple(wrong), time.monotonic() - began, remark, again))
    rows.append(
        Row("nothing tampered with", control.looks, tuple(control.wrong), remark="between the trials")
    )
    seen_inside = (
        (f"{hidden[1]} were seen without any outside root: this shows nothing",) if hidden[1] else ()
    )
    need = "with our key in hand, and no outside root to hold against: none is seen, as it must be"
    return [*rows, Row("the same, hidden from inside", hidden[0], seen_inside, remark=need)]


class _Control:
    """The ledger as it goes on by ordinary work: nothing must ever be found."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger, self.looks = ledger, 0
        self.wrong: list[str] = []

    def look(self, chance: random.Random) -> None:
        self.ledger.goes_on(chance)
        self.looks += 1
        self.wrong += [str(one) for one in verified(self.ledger, self.ledger.lines())]
        self.ledger.wire.rollback()


def verified(ledger: Ledger, lines: list[str] | None, *, payloads: bool = True) -> list[Finding]:
    """What verifying finds, in the transaction in which the tampering was done."""
    settle(ledger.wire)
    return list(
        verify.findings(ledger.wire, Report(), trusted=signing.trusted(), lines=lines, payloads=payloads)
    )


@contextmanager
def tampered(ledger: Ledger, trial: Trial, chance: random.Random) -> Iterator[Place]:
    """Tamper for the block. Yields where it must be found."""
    try:
        with hand.unguarded(ledger.wire):
            place = _tamper(ledger, trial, chance)
        yield place
    finally:
        ledger.wire.rollback()


def _tamper(ledger: Ledger, trial: Trial, chance: random.Random) -> Place:
    wire = ledger.wire
    if trial.kind == SWAPPED and trial.depth is Depth.ROWS:
        return Place(swapping.beside(wire, chance).run, 0)
    swapped = None
    while trial.kind == SWAPPED and swapped is None:
        run = chance.choice(ledger.runs)
        before = hand.events_of(wire, run)
        swapped = swapping.throughout(wire, run)
    if swapped is not None:
        changed, no = swapped.events, swapped.no
    else:
        run = chance.choice(ledger.runs)
        before = hand.events_of(wire, run)
        changed, no = CHAINED[trial.kind](chance, before, _free(wire))
    if trial.depth is Depth.ROWS:
        hand.rewrite(wire, run, changed)
        # A head that was not moved with them names its own place: the event that it calls the last.
        return Place(run, before[-1].no if trial.kind == "truncate" else no)
    if trial.kind == "fork":  # one chain can't show two: the other one takes the first one's place
        changed = [event for event in changed if event not in before or event.no != no]
    anew = hand.chained(changed)
    hand.rewrite(wire, run, anew)
    hand.set_head(wire, run, anew[-1])
    root = _root_over(wire, min(event.id for event in before if event not in anew))
    if trial.depth >= Depth.ROOTS:
        ours = Ed25519PrivateKey.from_private_bytes(settings.INTERLOCK_SIGN_KEY)
        hand.sign_anew(wire, root, ours if trial.depth is Depth.SIGNED else Ed25519PrivateKey.generate())
    return Place(run, no, root)


def _free(wire: hand.Wire) -> int:
    """An id that no event has."""
    row = wire.execute("SELECT max(id) + 1 FROM durable_ledgerevent").fetchone()
    assert row is not None
    return int(row[0])


def _root_over(wire: hand.Wire, id: int) -> int:
    """The number of the root over an event."""
    row = wire.execute("SELECT min(number) FROM durable_root WHERE last >= %s", [id]).fetchone()
    assert row is not None
    return int(row[0])
