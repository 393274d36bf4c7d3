"""A task that is claimed again is replayed from its start, each step answered from its checkpoint.

The dead worker's claim, 120 seconds by default, is not waited out: it is a setting, and no work.
"""

from __future__ import annotations

import os
from typing import Any

from tests.bench import kit, resuming, text
from tests.bench.absurd import engine

_begin: list[float] = []


def turns(given: dict[str, Any], context: Any) -> None:
    """Turns, the answers of which the next one has at hand. The last one dies; resumed, it reports first."""
    told: list[str] = []
    for no in range(given["length"]):
        told += context.step(f"turn {no}", lambda no=no: _said(no) if given["speaks"] else [])
    if _begin:
        kit.report(resuming.since(_begin[0]))
    os._exit(kit.DIED)


def _said(no: int) -> list[str]:
    return list(text.conversation(resuming.TURNS)[no])


def measure() -> kit.Figures:
    """Milliseconds from a new client to step N + 1."""
    engine.install()
    for length in resuming.LENGTHS:
        kit.phase("absurd.resume", "begin", length, 0)
    kit.phase("absurd.resume", "begin", resuming.TURNS, 1)
    return resuming.table("absurd.resume")


def begin(length: str, speaking: str) -> None:
    """Run until it dies behind its last step. Its claim is longer than all of this takes."""
    client = engine.client({"turns": turns})
    client.spawn("turns", {"length": int(length), "speaks": bool(int(speaking))})
    client.work_batch(claim_timeout=3_600)


def steps(length: str) -> None:
    """Go on with so many steps."""
    _resume(length, speaks=False)


def conversation(length: str) -> None:
    """Go on with so many turns of a conversation."""
    _resume(length, speaks=True)


def _resume(length: str, *, speaks: bool) -> None:
    """Only this task's claim is over."""
    with kit.connect() as connection:
        over = (
            "UPDATE absurd.r_default r SET claim_expires_at = now() - interval '1 second' FROM absurd.t_default t"
            " WHERE t.task_id = r.task_id AND r.state = 'running'"
            " AND t.params->>'length' = %s AND t.params->>'speaks' = %s"
        )
        connection.execute(over, (length, str(speaks).lower()))
    _begin.append(kit.now())
    client = engine.client({"turns": turns})
    while True:
        client.work_batch(claim_timeout=3_600)
