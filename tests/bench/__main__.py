"""`python -m tests.bench [MEASURE...] [--reps N] [--peers NAME...]`: one table, one chart; see `docs/benchmark.md`.

Measure by measure, repetition by repetition, the columns take turns, each in a process and on a database of its own.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.bench import peers
from tests.bench.chart import chart
from tests.bench.ground import ROOT, Ground, ground
from tests.bench.measures import MEASURES
from tests.bench.report import table

OWN = ("limit", "fenced", "ours")
Taken = dict[str, dict[str, dict[str, list[float]]]]


def main(words: Sequence[str]) -> int:
    """Measure what was asked for, print the table, and write table, chart and every single figure down."""
    options = _parsed(words)
    out: Path = options.out
    columns = [*OWN, *options.peers]
    pythons = {column: peers.python(column, out / "environments") for column in columns}
    with ground() as on:
        facts = [on.facts(), *map(peers.versions, options.peers)]
        facts.append(f"medians of {options.reps} repetitions (least to most), **ratio to the limit**")
        taken: Taken = {}
        for name in options.measures or MEASURES:
            taken[name] = _measured(on, name, pythons, options.reps)
            # After every measure, so that a long run that is cut short has not been for nothing.
            (out / "figures.json").write_text(json.dumps({"facts": facts, "taken": taken}, indent=1))
            (out / "table.md").write_text(table(taken, columns, "; ".join(facts)))
            (out / "chart.svg").write_text(chart(taken, columns))
    print((out / "table.md").read_text())
    return 0


def _parsed(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tests.bench")
    parser.add_argument("measures", nargs="*", choices=[[], *MEASURES], help="all of them without a name")
    parser.add_argument("--reps", type=int, default=5, help="repetitions, in which the columns take turns")
    parser.add_argument("--peers", nargs="*", choices=peers.known(), default=[], help="columns beside ours")
    parser.add_argument(
        "--out", type=Path, default=ROOT / "build" / "bench", help="the folder for what was found"
    )
    options = parser.parse_args(words)
    options.out.mkdir(parents=True, exist_ok=True)
    return options


def _measured(
    on: Ground, name: str, pythons: Mapping[str, Path], reps: int
) -> dict[str, dict[str, list[float]]]:
    measure = MEASURES[name]
    module = measure.module or name
    able = [column for column in pythons if (peers.HERE / column / f"{module}.py").exists()]
    found: dict[str, dict[str, list[float]]] = {column: {} for column in able}
    for turn in range(reps):
        for column in able[turn % len(able) :] + able[: turn % len(able)]:
            for figure, value in on.cell(pythons[column], column, module, flush=measure.flush).items():
                found[column].setdefault(figure, []).append(value)
        print(f"{name}: {turn + 1} of {reps}", file=sys.stderr, flush=True)
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
