"""Races on real connections, each with a control that shows the damage when its guard is off.

`prove` runs them all, in two processes side by side. What each race is stands in `gates`, `closings`, `lives`,
`suspensions`, `commands`, `shares` and `workers`; how a race is run, in `harness`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from proof.report import Row, Say
from proof.stage import ROOT

if TYPE_CHECKING:
    from proof.races.harness import Race


def races() -> list[Race]:
    """Every race. The settings must be there."""
    from proof.races import closings, commands, gates, lives, shares, suspensions, workers

    parts = (gates, closings, lives, suspensions, commands, shares, workers)
    return [race for part in parts for race in part.RACES]


def prove(say: Say, *, rounds: int) -> list[Row]:
    """Run every race for so many rounds, and its control. The services are those of the environment."""
    alone = [race.name for race in races() if race.alone]
    others = [race.name for race in races() if not race.alone]
    # First, while there are no rows but theirs: what acts on all takes as long as there are many.
    rows = list(run(say, rounds, alone))
    with _elsewhere(rounds, others[1::2]) as other:
        try:
            rows += run(say, rounds, others[::2])
            for line in _lines(other):
                rows.append(_row(line))
                tell(say, rows[-1])
        finally:
            other.kill()
    return rows


def run(say: Say, rounds: int, names: Sequence[str]) -> Iterator[Row]:
    """Run the named races in this process, one after the other."""
    from proof.races import harness
    from proof.races.ground import ground

    with ground() as on:
        for race in races():
            if race.name in names:
                row = harness.prove(race, on, rounds)
                tell(say, row)
                yield row


def tell(say: Say, row: Row) -> None:
    """Say how a race went."""
    say(f"race {row.what}: {row.tried} rounds, {len(row.violations)} violations; {row.remark}")


def _elsewhere(rounds: int, names: Sequence[str]) -> subprocess.Popen[str]:
    """Run the named races in a process of its own, which prints a row a line."""
    words = [sys.executable, "-m", "proof.races", "--rounds", str(rounds), "--rows"]
    words += [word for name in names for word in ("--only", name)]
    return subprocess.Popen(words, cwd=ROOT, env=dict(os.environ), stdout=subprocess.PIPE, text=True)


def _lines(process: subprocess.Popen[str]) -> Iterator[str]:
    assert process.stdout is not None
    # What the engine logs comes by the same way.
    yield from (line for line in process.stdout if line.startswith("{"))
    if process.wait():
        raise RuntimeError(f"the other half of the races ended with {process.returncode}")


def as_line(row: Row) -> str:
    """Return a row as the other process prints it."""
    return json.dumps(asdict(row))


def _row(line: str) -> Row:
    told = json.loads(line)
    return Row(**{**told, "violations": tuple(told["violations"])})
