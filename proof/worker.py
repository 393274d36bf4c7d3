"""`python -m proof.worker --die vendor.after_call:3 -- -Q runs -c 1`: a real Celery worker that dies at a named point.

It arms `durable.faults` in its own process and then becomes Celery's worker; the pool's children inherit what is
armed. At the point the whole worker, pool and all, gets SIGKILL: as after a pulled plug, nothing is tidied up. Without
`--die` it is an ordinary worker, and `--without lookup.skip` takes a guard out. What stands after `--` goes to Celery.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from durable import faults
from proof.dying import arm, lead_a_group

_PLAIN = ("--without-gossip", "--without-mingle", "--without-heartbeat", "--loglevel", "WARNING")


def command(queue: str, name: str, *, die: str = "", without: str = "") -> tuple[str, ...]:
    """Return the words that start such a worker, one run at a time, dying at `die` (NAME or NAME:HIT) or never.

    `without` is a guard that is taken out of it.
    """
    own = (*(("--die", die) if die else ()), *(("--without", without) if without else ()))
    python = (sys.executable, "-W", "ignore::UserWarning:celery.platforms")
    return (*python, "-m", "proof.worker", *own, "--", *_place(queue, name))


def arguments(queue: str, name: str) -> list[str]:
    """Return Celery's own words for a worker of one queue, one run at a time."""
    return ["--quiet", "worker", *_PLAIN, *_place(queue, name)]


def _place(queue: str, name: str) -> tuple[str, ...]:
    return ("-Q", queue, "-n", f"{name}@%h", "-c", "1")


def main(words: Sequence[str]) -> None:
    """Arm, then run Celery's worker in this process."""
    place = words.index("--") if "--" in words else len(words)
    parser = argparse.ArgumentParser(prog="proof.worker", description="A Celery worker that dies at a point.")
    parser.add_argument("--die", default="", metavar="NAME[:HIT]", help="the fault point at which it dies")
    parser.add_argument("--without", default="", metavar="GUARD", help="a guard that is taken out")
    options = parser.parse_args(words[:place])
    lead_a_group()
    if options.die:
        arm(options.die)
    if options.without:
        faults.turn(options.without, True)
    from durable.celery import app

    app.worker_main(["--quiet", "worker", *_PLAIN, *words[place + 1 :]])


if __name__ == "__main__":
    main(sys.argv[1:])
