"""`python -m proof.parts NAME --rows FILE [...]`: one part of the proof, in a process and on services of its own.

So no part sees what another has left behind, and none ever touches a database that the environment names. What it finds
goes to FILE as JSON, a row a line; what it says on the way goes to standard output.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any

from proof.report import Row, Say


@dataclass(frozen=True)
class Extent:
    """How much is tried. The short form, which anybody can wait for, is the default."""

    schedules: int = 2_000
    seed: int = 1
    rounds: int = 100
    zombies: int = 50
    kills: int = 20
    samples: int = 20
    chaos: float = 120.0
    trials: int = 20
    long: bool = False


@dataclass(frozen=True)
class Part:
    """A part of the proof: the module whose `prove` it is, what it gets of the extent, and what it shows.

    One that `waits` most of its time, or takes one processor, goes beside those that take all. One that goes `alone`
    holds times, or how much has come to pass, against a bound.
    """

    module: str
    takes: Callable[[Extent], dict[str, Any]]
    shows: str
    waits: bool = False
    alone: bool = False


PARTS: Mapping[str, Part] = MappingProxyType(
    {
        "model": Part(
            "proof.model", lambda _: {}, "the protocol as a state graph: every guard on, each guard off"
        ),
        "points": Part(
            "proof.schedules",
            lambda extent: {"schedules": 0, "seed": extent.seed, "long": extent.long},
            "a crash at every single point, and at pairs of them, by class of vendor",
        ),
        "schedules": Part(
            "proof.schedules.random",
            lambda extent: {"schedules": extent.schedules, "seed": extent.seed},
            "random crashes, faults and commands",
        ),
        "races": Part(
            "proof.races",
            lambda extent: {"rounds": extent.rounds},
            "who comes first, with and without each guard",
        ),
        "zombies": Part(
            "proof.zombies",
            lambda extent: {"count": extent.zombies},
            "workers that wake up too late",
            waits=True,
        ),
        "promptness": Part(
            "proof.promptness",
            lambda extent: {"samples": extent.samples},
            "how soon: three promises, measured",
            alone=True,
        ),
        "database": Part(
            "proof.database",
            lambda extent: {"kills": extent.kills},
            "what was acknowledged is there",
            waits=True,
        ),
        "tampering": Part(
            "proof.tampering",
            lambda extent: {"trials": extent.trials, "seed": extent.seed},
            "a superuser rewrites the ledger, eight ways and four depths",
            waits=True,
        ),
        "chaos": Part(
            "proof.chaos",
            lambda extent: {"seconds": extent.chaos, "seed": extent.seed},
            "everything at once, then a whole history checked",
            alone=True,
        ),
    }
)


def run(name: str, extent: Extent, say: Say) -> list[Row]:
    """Run one part here. Django must be set up, on services that may be spoilt."""
    part = PARTS[name]
    rows: list[Row] = import_module(part.module).prove(say, **part.takes(extent))
    return rows


def words(name: str, extent: Extent, rows: Path) -> list[str]:
    """Return the words that start a part in a process of its own."""
    return [
        sys.executable,
        "-m",
        "proof.parts",
        name,
        "--rows",
        str(rows),
        "--extent",
        json.dumps(asdict(extent)),
    ]


def write(rows: Path, found: Sequence[Row]) -> None:
    """Write rows down for the process that has asked for them."""
    rows.write_text("".join(json.dumps(asdict(row)) + "\n" for row in found))


def read(rows: Path) -> list[Row]:
    """Read what a part has found. Empty where it did not come to its end."""
    if not rows.exists():
        return []
    return [
        Row(**{**found, "violations": tuple(found["violations"])})
        for found in map(json.loads, rows.read_text().splitlines())
    ]


def main(argv: Sequence[str]) -> int:
    """Run a part on services of its own, and write its rows down."""
    parser = argparse.ArgumentParser(prog="proof.parts")
    parser.add_argument("name", choices=sorted(PARTS))
    parser.add_argument("--rows", type=Path, required=True)
    parser.add_argument("--extent", type=json.loads, default={})
    options = parser.parse_args(argv)
    for named in ("DATABASE_URL", "DATABASE_OWNER_URL", "CELERY_BROKER_URL"):
        os.environ.pop(named, None)
    os.environ.setdefault("LOG_LEVEL", "ERROR")
    from local.throwaway import services

    with services():
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "durable.settings")
        import django

        django.setup()
        found = run(
            options.name,
            Extent(**options.extent),
            lambda line: print(f"{options.name:<10}  {line}", flush=True),
        )
    write(options.rows, found)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
