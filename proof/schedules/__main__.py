"""`python -m proof.schedules [--schedules N] [--seed S] [--long] [--case NAME | --controls | --workers]`.

Without options: every single point, the pairs of two vendor classes, 2,000 random schedules of seed 1. Exit code 1 on
any violation. Without a DATABASE_URL it brings its own services.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from local.throwaway import services
from proof.report import Tally


def main(words: Sequence[str]) -> int:
    """Prove, print the table, and return the exit code."""
    parser = argparse.ArgumentParser(prog="proof.schedules", description="Crash schedules by real SIGKILL.")
    parser.add_argument("--schedules", type=int, default=2_000, metavar="N", help="random ones; 0 for none")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--long", action="store_true", help="the pairs of all six vendor classes")
    parser.add_argument("--only-random", action="store_true", help="leave the enumerated ones out")
    parser.add_argument("--case", metavar="NAME", help="one schedule, by its name in a report")
    parser.add_argument("--controls", action="store_true", help="the controls alone")
    parser.add_argument("--workers", action="store_true", help="real Celery workers alone")
    options = parser.parse_args(words)
    with services():
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "durable.settings")
        import django

        django.setup()
        from proof.schedules import proving

        tally = Tally()
        if options.case:
            tally.add([proving.case(print, options.case)])
        elif options.workers:
            tally.add([proving.through_workers(print)])
        elif options.controls:
            tally.add([proving.controls(print)])
        else:
            points = not options.only_random
            tally.add(
                proving.prove(
                    print, schedules=options.schedules, seed=options.seed, long=options.long, points=points
                )
            )
    print("\n".join(tally.table()))
    return 0 if tally.sound() else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
