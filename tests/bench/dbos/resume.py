"""Recovery as it is launched again: the workflow is replayed from its start, each step answered from the journal."""

from __future__ import annotations

import os
import time

from dbos import DBOS, SetWorkflowID

from tests.bench import kit, resuming, text
from tests.bench.dbos import engine

_begin: list[float] = []


@DBOS.step()
def turn(no: int, last: int, speaks: bool) -> list[str]:
    """One turn. The last one dies; resumed, it reports first."""
    if no == last:
        if _begin:
            kit.report(resuming.since(_begin[0]))
        os._exit(kit.DIED)
    return list(text.conversation(resuming.TURNS)[no]) if speaks else []


@DBOS.workflow()
def turns(last: int, speaks: bool) -> None:
    """Turns, the answers of which the next one has at hand."""
    told: list[str] = []
    for no in range(last + 1):
        told += turn(no, last, speaks)


def measure() -> kit.Figures:
    """Milliseconds from the launch to step N + 1."""
    for length in resuming.LENGTHS:
        kit.phase("dbos.resume", "begin", length, 0)
    kit.phase("dbos.resume", "begin", resuming.TURNS, 1)
    return resuming.table("dbos.resume")


def begin(length: str, speaking: str) -> None:
    """Run until it dies in its last step."""
    engine.launch()
    with SetWorkflowID(_name(length, speaking)):
        turns(int(length), bool(int(speaking)))


def steps(length: str) -> None:
    """Go on with so many steps."""
    _resume(_name(length, "0"))


def conversation(length: str) -> None:
    """Go on with so many turns of a conversation."""
    _resume(_name(length, "1"))


def _name(length: str, speaking: str) -> str:
    return f"run-{length}-{speaking}"


def _resume(name: str) -> None:
    """The others are taken out of its way."""
    with kit.connect() as connection:
        status = "CASE WHEN workflow_uuid = %s THEN 'PENDING' ELSE 'CANCELLED' END"
        connection.execute(f"UPDATE dbos.workflow_status SET status = {status}", (name,))
    _begin.append(kit.now())
    engine.launch()
    time.sleep(600)
