"""`python -m proof.races [--rounds N] [--only NAME]`: races on services of their own; exit code 1 if unsound."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from local.throwaway import services


def main(words: Sequence[str]) -> int:
    """Run the races and print their table, or (`--rows`, for `prove`) a row a line and nothing else."""
    parser = argparse.ArgumentParser(prog="proof.races", description="Races, each with its control.")
    parser.add_argument("--rounds", type=int, default=500)
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="one race, by its name")
    parser.add_argument("--rows", action="store_true", help="print rows as JSON")
    options = parser.parse_args(words)
    os.environ.setdefault("LOG_LEVEL", "ERROR")  # thousands of requests, each told twice
    with services():
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "durable.settings")
        import django

        django.setup()
        from proof import races
        from proof.report import Tally

        if options.rows:
            for row in races.run(lambda _line: None, options.rounds, options.only):
                print(races.as_line(row), flush=True)
            return 0
        found = (
            list(races.run(print, options.rounds, options.only))
            if options.only
            else races.prove(print, rounds=options.rounds)
        )
        tally = Tally(found)
        print(*tally.table(), sep="\n")
        return 0 if tally.sound() else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
