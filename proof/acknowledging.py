"""Clients that have the engine write, and note what it has acknowledged in a file that no database can lose.

Each is a process forked from one that has loaded everything. It starts runs, claims them, writes checkpoints, intents,
outcomes and decisions through the engine's own doors, and notes each one after the call has returned. A database that
goes away is waited for.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import dj_database_url
from django.contrib.auth.models import User
from django.db import InterfaceError, OperationalError, connection, connections

from approvals.decisions import Answer, Circumstances, decide
from approvals.models import Gate
from approvals.states import Verdict
from durable import checkpoints, claims, faults, ledger, runs
from durable.agents.desk_tools import refund, reserve_replacement
from durable.errors import LeaseLost
from durable.ledger import Ask, Place, outcome
from durable.models import Run
from durable.states import Durability
from durable.tools import Tool
from durable.transitions import Claim
from durable.vendor import Receipt
from local.postgres import kill_all

#: What is noted, and must be there whatever becomes of the database.
KINDS = ("run", "claim", "intent", "outcome", "decision", "checkpoint")
#: Noted too, and may be lost where it is young.
LAZY = "lazy checkpoint"
_HERE = Circumstances(ip="192.0.2.7", browser="proof", authenticated="session")
_CHECKPOINTS = 3
_FORK = multiprocessing.get_context("fork")


@contextmanager
def aimed(url: str, *, careless: bool = False) -> Iterator[None]:
    """This process, and what it forks, speak to the database at `url`; `careless`: no commit waits for the disk."""
    one: Any = connections["default"]
    one.close()
    before = dict(one.settings_dict)
    options = dict(before["OPTIONS"])
    if careless:
        options["options"] = options["options"].replace("synchronous_commit=on", "synchronous_commit=off")
    found = dj_database_url.parse(url)
    one.settings_dict.update({n: found[n] for n in ("NAME", "USER", "PASSWORD", "HOST", "PORT")})
    one.settings_dict["OPTIONS"] = options
    try:
        yield
    finally:
        one.close()
        one.settings_dict.update(before)


def client(notes: Path, *, sync: bool = True) -> BaseProcess:
    """Start a client that writes until it is ended. Without `sync` it writes no checkpoint that waits for the disk."""
    return _fork(_forever, notes, sync)


def doomed(notes: Path, point: str, server: int) -> BaseProcess:
    """Start a client that kills the database server at a fault point, notes what was acknowledged then, and ends."""
    return _fork(_once, notes, point, server)


def _fork(act: Callable[..., None], *args: Any) -> BaseProcess:
    connections.close_all()  # a connection must not be shared with a child
    child = _FORK.Process(target=act, args=args, daemon=True)
    child.start()
    return child


def _forever(notes: Path, sync: bool) -> None:
    while True:
        try:
            _live(_Notes(notes), sync)
        except (OperationalError, InterfaceError):
            connection.close()
            time.sleep(0.05)
        except LeaseLost:
            pass  # the database was away for longer than the lease


def _once(notes: Path, point: str, server: int) -> None:
    def strike() -> None:
        kill_all(server)

    faults.arm(point, strike)
    while True:
        try:
            _live(_Notes(notes), True)
        except (OperationalError, InterfaceError):
            return
        except LeaseLost:
            pass  # it was too slow to come to the point


class _Notes:
    """The file of what was acknowledged: a line each, written at once, by several processes."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def add(self, kind: str, name: str, number: int | str = 0) -> None:
        line = json.dumps([kind, name, number, time.monotonic()]) + "\n"
        with self._path.open("ab", buffering=0) as file:
            file.write(line.encode())


def _live(notes: _Notes, sync: bool) -> None:
    """One life of a run, everything of it noted as soon as it is acknowledged."""
    name = f"order-{os.getpid()}-{time.monotonic_ns()}"
    run = runs.start(
        "RefundDesk", {"order": name, "wants": "money"}, actor="proof", durability=Durability.SYNC
    )
    notes.add("run", run.ref)
    claim = claims.claim(run.ref)
    assert claim is not None
    notes.add("claim", run.ref, claim.attempt)
    _effects(notes, claim, name)
    run = Run.objects.get(pk=run.pk)
    snap = checkpoints.load(run)
    for lazily in [*([False] * _CHECKPOINTS if sync else []), *[True] * _CHECKPOINTS]:
        checkpoints.advance(snap, "triage", {"order": name, "n": claim.version}, [])
        checkpoints.save(claim, snap, sync=not lazily)
        notes.add(LAZY if lazily else "checkpoint", run.ref, claim.version)


def _effects(notes: _Notes, claim: Claim, name: str) -> None:
    """An effect that is applied, and one that a person approves."""
    goods = _record(notes, claim, reserve_replacement, 1, order=name, sku="MUG", quantity=1)
    receipt = Receipt(id=f"rsv_{name}", key=goods.key)
    outcome.applied(claim, goods, receipt)
    notes.add("outcome", goods.key, receipt.id)
    money = {"customer": "cus_1", "charge": "ch_1", "amount": Decimal("184.50"), "currency": "EUR"}
    gated = _record(notes, claim, refund, 2, order=name, reason="duplicate", **money)
    gate = Gate.objects.get(effect=gated)
    answer = Answer(Verdict.APPROVE, words="as agreed", digest=gate.digest, round=gate.round)
    decision = decide(User.objects.get(username="marta"), gate.pk, answer, _HERE)
    notes.add("decision", gated.key, decision.pk)


def _record(notes: _Notes, claim: Claim, tool: Tool, ordinal: int, **args: Any) -> Any:
    run = Run.objects.get(pk=claim.run_id)
    effect = ledger.record(claim, run, Ask.of(tool, args, Place("pay", 1, ordinal))).effect
    notes.add("intent", effect.key)
    return effect
