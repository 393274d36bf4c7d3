"""A batch of workers falls asleep; others finish their runs; then they wake up, and nothing may change."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from queue import Empty, Queue
from threading import Thread
from typing import Any

from django.db.models import Q

from approvals.models import Gate
from durable.models import Attempt, Budget, Checkpoint, Effect, Frozen, LedgerEvent, Message, Purse, Run, Wait
from durable.models.fields import Clock
from durable.states import EventKind
from proof.races.ground import Ground
from proof.stage import ROOT
from proof.zombies import cast, keeper
from proof.zombies.cases import Case, finish

_PATIENCE = 60.0
#: Workers that start side by side, and how often one is sent out that loses its lease before its point.
_AT_ONCE, _TRIES = 3, 3


@dataclass(frozen=True)
class Seen:
    """A run's ledger and rows at one moment."""

    hashes: list[bytes]
    kinds: list[str]
    rows: dict[str, list[dict[str, Any]]]


def look(run: Run) -> Seen:
    """Read everything that a late write could have changed."""
    events = LedgerEvent.objects.filter(run_ref=run.ref).order_by("no").values_list("hash", "kind")
    of: list[tuple[Any, Any]] = [
        (Run, {"pk": run.pk}),
        (Budget, {"pk": run.budget_id}),
        (Purse, {"budget": run.budget_id}),
        (Message, {"branch": run.branch_id}),
        (Gate, {"effect__run": run}),
        *((model, {"run": run}) for model in (Attempt, Checkpoint, Effect, Frozen, Wait)),
    ]
    rows = {
        model.__name__: list(model.objects.filter(**where).order_by("pk").values()) for model, where in of
    }
    return Seen([bytes(one) for one, _ in events], [kind for _, kind in events], rows)


def changed(before: Seen, after: Seen) -> Iterator[str]:
    """What a worker that woke up has changed, beyond the one thing that it may add."""
    if after.hashes[: len(before.hashes)] != before.hashes:
        yield "its ledger was rewritten"
    added = [kind for kind in after.kinds[len(before.kinds) :] if kind != EventKind.LATE_ANSWER]
    if added:
        yield f"it added {', '.join(added)} to the ledger"
    for table, rows in before.rows.items():
        if after.rows[table] != rows:
            pairs = zip(rows, after.rows[table], strict=False)
            names = sorted({name for old, new in pairs for name in old if old[name] != new[name]})
            yield f"it changed {table}: {', '.join(names) or f'{len(rows)} rows, now {len(after.rows[table])}'}"


class Keeper:
    """The process that forks them, and what it tells."""

    def __init__(self, settings: dict[str, str]) -> None:
        self._process = subprocess.Popen(
            keeper.command(),
            cwd=ROOT,
            env={**os.environ, **settings},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._lines: Queue[str] = Queue()
        self._met: dict[tuple[str, str], dict[str, Any]] = {}
        Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith("{"):  # what is logged goes the same way
                self._lines.put(line)

    def order(self, case: Case, run: Run, *, without: bool) -> None:
        """Let a worker begin that falls asleep."""
        assert self._process.stdin is not None
        told = {"name": case.name, "run": run.ref, "stop": case.stop, "without": without}
        self._process.stdin.write(json.dumps(told) + "\n")
        self._process.stdin.flush()

    def until(self, how: str, cases: Sequence[Case], seconds: float = _PATIENCE) -> dict[str, dict[str, Any]]:
        """Wait until each has stopped, or ended. Returns what is known of those that have."""
        end = time.monotonic() + seconds
        while any((one.name, how) not in self._met for one in cases):
            try:
                told = json.loads(self._lines.get(timeout=max(end - time.monotonic(), 0.0)))
            except Empty:
                break
            self._met[told["name"], told["how"]] = told
            if told["how"] == "ended":  # it will not stop any more
                self._met.setdefault((told["name"], "stopped"), told)
        return {one.name: self._met[one.name, how] for one in cases if (one.name, how) in self._met}

    def forget(self, cases: Sequence[Case]) -> None:
        """Their names may be used again."""
        for case in cases:
            for how in ("stopped", "ended"):
                self._met.pop((case.name, how), None)

    def close(self) -> None:
        """End it, and with it all that it has forked."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()


@contextmanager
def keeping(settings: dict[str, str]) -> Iterator[Keeper]:
    """A keeper for the length of a block; its workers hold their leases for a second."""
    found = Keeper({"INTERLOCK_AGENTS": cast.__name__, "LEASE_SECONDS": "1", "LOG_LEVEL": "ERROR"} | settings)
    try:
        yield found
    finally:
        found.close()


@dataclass
class Tale:
    """What workers that fell asleep have shown; `damage` is what they have changed after they woke up."""

    wrong: list[str] = field(default_factory=list)
    damage: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    late: int = 0
    tried: int = 0

    def add(self, other: Tale) -> None:
        """Add a further batch."""
        self.wrong += other.wrong
        self.damage += other.damage
        self.refused += other.refused
        self.late += other.late
        self.tried += other.tried


def play(ground: Ground, forks: Keeper, cases: Sequence[Case], *, without: bool = False) -> Tale:
    """Let them fall asleep, their runs be finished, and them wake up."""
    tale = Tale(tried=len(cases))
    asleep, missed = _put_to_sleep(ground, forks, cases, without=without)
    tale.wrong += [f"{case.name}: it never came to its point" for case in cases if case not in asleep]
    runs_of = {case: run for case, (run, _) in asleep.items()}
    _until_leases_are_over(list(runs_of.values()))
    tale.wrong += finish(ground, [*runs_of.values(), *missed], tale.refused)
    before = {case: look(run) for case, run in runs_of.items()}
    book = ground.moved()
    for _, pid in asleep.values():
        os.kill(pid, signal.SIGCONT)
    ended = forks.until("ended", list(asleep))
    after_book = ground.moved()
    for case, run in runs_of.items():
        about = run.input["charge" if case.agent == cast.KeyedDesk.name else "order"]
        after = look(run)
        tale.late += after.kinds.count(EventKind.LATE_ANSWER)
        tale.damage += [f"{case.name}: {sentence}" for sentence in changed(before[case], after)]
        tale.wrong += _held_against(case, run, book[about], after_book[about])
        code = ended.get(case.name, {"code": "nothing"})["code"]
        if code != 0:
            tale.wrong.append(f"{case.name}: after waking up it ended with {code}")
    forks.forget(cases)
    tale.wrong += tale.damage
    return tale


def _put_to_sleep(
    ground: Ground, forks: Keeper, cases: Sequence[Case], *, without: bool
) -> tuple[dict[Case, tuple[Run, int]], list[Run]]:
    """Fork a worker a case, few at a time: a lease is short, and whoever starts needs a processor.

    Returns run and process of each that sleeps, and the runs of those that lost their lease on the way: these are
    tried again.
    """
    asleep: dict[Case, tuple[Run, int]] = {}
    missed: list[Run] = []
    for _ in range(_TRIES):
        left = [case for case in cases if case not in asleep]
        for first in range(0, len(left), _AT_ONCE):
            some = left[first : first + _AT_ONCE]
            runs_of = {case: case.leg.bring(ground, case.agent) for case in some}
            for case, run in runs_of.items():
                forks.order(case, run, without=without)
            told = forks.until("stopped", some)
            for case, run in runs_of.items():
                if told.get(case.name, {"how": ""})["how"] == "stopped":
                    asleep[case] = run, told[case.name]["pid"]
                else:
                    missed.append(run)
            forks.forget([case for case in some if case not in asleep])
    return asleep, missed


def _held_against(case: Case, run: Run, before: list[Decimal], after: list[Decimal]) -> Iterator[str]:
    run.refresh_from_db()
    if run.state != case.leg.ends:
        yield f"{case.name}: {run.ref} is {run.state}, not {case.leg.ends}"
    if sorted(before) != case.expected() or after != before:
        yield f"{case.name}: the book said {before} before it woke up, {after} after"


def _until_leases_are_over(found: Sequence[Run]) -> None:
    """Wait until nobody holds any of them."""
    held = Run.objects.filter(pk__in=[run.pk for run in found]).filter(
        Q(lease_until__isnull=False) & Q(lease_until__gt=Clock())
    )
    end = time.monotonic() + _PATIENCE
    while held.exists() and time.monotonic() < end:
        time.sleep(0.05)
