"""Races among runs, or starts, for what there is once: the last of a budget, a start's key, an order's one refund."""

from __future__ import annotations

import itertools
import secrets
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from functools import partial
from importlib import import_module
from typing import Any

from django.test.utils import override_settings

from durable import claims, runner, runs
from durable.ledger import Ask, Place, gating, record
from durable.models import Effect, LedgerEvent, Purse, Run
from durable.states import EffectState, EventKind, RunState
from durable.transitions import Claim
from proof.four_refunds import refund_part
from proof.races import cast, unguarded
from proof.races.ground import SMALL, Ground
from proof.races.harness import Beaten, Control, Played, Race

# The last unit of a budget, among eight


@dataclass(frozen=True)
class Last:
    """One round: the `number`-th effect of eight running runs that share a purse with room for one more."""

    number: int
    claims: tuple[Claim, ...]
    run: Run
    orders: Sequence[Mapping[str, Any]]


_EIGHT = 8
_numbers = itertools.count(1)


def eight(ground: Ground, rounds: int) -> list[Last]:
    """Eight running runs, which share one budget."""
    started = [ground.start(cast.Refunder.name) for _ in range(_EIGHT)]
    shared = started[0]
    Run.objects.filter(pk__in=[run.pk for run in started]).update(budget=shared.budget)
    Purse.objects.filter(budget=shared.budget).update(limit_minor=0)
    with override_settings(LEASE_SECONDS=timedelta(hours=1)):
        taken = [claims.claim(run.ref) for run in started]
    held = tuple(claim for claim in taken if claim is not None)
    orders = [run.input for run in started]
    return [Last(next(_numbers), held, shared, orders) for _ in range(rounds)]


def room_for_one(last: Last) -> None:
    found = Purse.objects.get(budget=last.run.budget_id)
    Purse.objects.filter(pk=found.pk).update(limit_minor=found.reserved_minor + found.spent_minor + 100)


def intend(who: int, last: Last) -> None:
    """One of the eight records its intent, and reserves one euro with it."""
    about = {"order": last.orders[who]["order"], "charge": last.orders[who]["charge"]}
    args = {**about, "amount": Decimal(1), "currency": "EUR"}
    claim = last.claims[who]
    run = Run.objects.get(pk=claim.run_id)
    record(claim, run, Ask.of(refund_part, args, Place("pay", 1, last.number)), send=False)


def judge_last(ground: Ground, played: Sequence[Played]) -> Iterator[str]:
    """One has got it, and the purse says so."""
    for one in played:
        last: Last = one.item
        runs_of = [claim.run_id for claim in last.claims]
        found = Effect.objects.filter(run__in=runs_of, ordinal=last.number).count()
        if len(one.winners) != 1 or found != 1:
            yield f"effect {last.number}: {len(one.winners)} were told that they have it, {found} are recorded"
        refused = [
            o.words for o in one.outcomes.values() if not o.won and "left in the budget" not in o.words
        ]
        if refused:
            yield f"effect {last.number}: refused in other words: {refused[0]}"
    for budget, of in itertools.groupby(played, key=lambda one: one.item.run.budget_id):
        members = [claim.run_id for claim in next(of).item.claims]
        reserved = Purse.objects.get(budget=budget).reserved_minor
        entries = Effect.objects.filter(run__in=members, state=EffectState.PENDING.value)
        if reserved != sum(minor or 0 for minor in entries.values_list("amount_minor", flat=True)):
            yield f"budget {budget}: {reserved} reserved, which is not the sum of its effects"


@contextmanager
def _check_then_reserve() -> Iterator[None]:
    """The purse is read as it was before anybody waited for its row, and written from that."""
    module = import_module("durable.ledger.intent")
    stale = "(SELECT q.reserved_minor FROM durable_purse q WHERE q.id = p.id)"
    slowly = f"pg_sleep({unguarded.BETWEEN}) IS NOT NULL AND p.limit_minor >= {stale} +"
    unread = unguarded.without(module.INTENT, "p.limit_minor >= p.reserved_minor +", slowly)
    unread = unguarded.without(unread, "reserved_minor = p.reserved_minor +", f"reserved_minor = {stale} +")
    with unguarded.replaced(module, "INTENT", unread):
        yield


# The same start key, twice and more


@dataclass(frozen=True)
class Start:
    """A start that comes several times, with one key."""

    key: str
    input: Mapping[str, Any]


def starts(ground: Ground, rounds: int) -> list[Start]:
    return [Start(f"start-{secrets.token_hex(8)}", ground.order()) for _ in range(rounds)]


def start(one: Start) -> str:
    return runs.start(cast.Refunder.name, dict(one.input), actor="the races", key=one.key).ref


def judge_started(ground: Ground, played: Sequence[Played]) -> Iterator[str]:
    """Everybody was told of one and the same run, and there is no other."""
    for one in played:
        told = {outcome.words for outcome in one.outcomes.values()}
        found = set(Run.objects.filter(input__order=one.item.input["order"]).values_list("ref", flat=True))
        begun = LedgerEvent.objects.filter(run_ref__in=found, kind=EventKind.STARTED.value).count()
        if len(told) != 1 or told != found or begun != 1:
            yield f"{one.item.key}: told of {sorted(told)}, there are {sorted(found)}"


@contextmanager
def _keys_looked_up_alone() -> Iterator[None]:
    """No unique key in the database: a start looks whether it has been made, and then makes it."""
    create = runs._create

    def another(agent: Any, payload: Any, input_digest: str, actor: str, key: str, *more: Any) -> Run | None:
        found = Run.objects.filter(start_key__startswith=f"{key} ").first()
        time.sleep(unguarded.BETWEEN)
        return found or create(agent, payload, input_digest, actor, f"{key} {secrets.token_hex(4)}", *more)

    with unguarded.replaced(runs, "_create", another):
        yield


# One refund an order, asked for by two runs


@dataclass(frozen=True)
class Twins:
    """Two runs about one order."""

    runs: tuple[Run, Run]


def twins(ground: Ground, rounds: int) -> list[Twins]:
    orders = [ground.order() for _ in range(rounds)]
    name = cast.OnceRefunder.name
    return [Twins((ground.start(name, **order), ground.start(name, **order))) for order in orders]


def refund_of(which: int, found: Twins) -> None:
    """A worker drives one of the two."""
    runner.drive(found.runs[which].ref)
    if not Effect.objects.filter(run=found.runs[which], state=EffectState.APPLIED.value).exists():
        raise Beaten("a person is asked first")


def judge_once(ground: Ground, played: Sequence[Played]) -> Iterator[str]:
    """One has paid; the other waits for a person, who is told of the first."""
    book = ground.moved()
    for one in played:
        found: Twins = one.item
        charge, names = found.runs[0].input["charge"], " and ".join(run.ref for run in found.runs)
        if book[charge] != [Decimal(SMALL)] or len(one.winners) != 1:
            yield f"{names}: {len(one.winners)} paid, and the book says {book[charge]}"
            continue
        loser, winner = found.runs if one.winners == ["second"] else found.runs[::-1]
        loser.refresh_from_db()
        reasons = [gate.reason for effect in loser.effects.all() for gate in effect.gates.all()]
        if loser.state != RunState.SUSPENDED or [winner.ref in reason for reason in reasons] != [True]:
            yield f"{loser.ref}: {loser.state}, asking because {reasons}"


@contextmanager
def _unserialised() -> Iterator[None]:
    """The two don't queue for the act, and each looks for the other before either has committed."""
    line = threading.Barrier(2)

    def meet(once_per: str) -> None:
        with suppress(threading.BrokenBarrierError):
            line.wait(1)

    with unguarded.replaced(gating, "serialise_once_per", meet):
        yield


RACES = (
    Race(
        "last unit of a budget among 8",
        eight,
        {f"step {n + 1}": partial(intend, n) for n in range(_EIGHT)},
        judge_last,
        Control("the conditional update of the purse", _check_then_reserve),
        arrange=room_for_one,
        sides={f"step {n + 1}": f"step {n + 1}" for n in range(_EIGHT)},
    ),
    Race(
        "same start key twice",
        starts,
        {f"start {n + 1}": start for n in range(3)},
        judge_started,
        Control("the unique key in the database", _keys_looked_up_alone),
        side=lambda one: "one run" if len({o.words for o in one.outcomes.values()}) == 1 else "several",
    ),
    Race(
        "two runs, once_per one order",
        twins,
        {"first": partial(refund_of, 0), "second": partial(refund_of, 1)},
        judge_once,
        Control("the queue of runs that want the same act", _unserialised),
        sides={"first": "first", "second": "second"},
    ),
)
