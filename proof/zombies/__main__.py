"""`python -m proof.zombies [--count N]`: workers that wake up too late; exit code 1 if unsound."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from local.throwaway import services


def main(words: Sequence[str]) -> int:
    """Let them sleep and wake up, and print the table."""
    parser = argparse.ArgumentParser(prog="proof.zombies", description="Workers that wake up too late.")
    parser.add_argument("--count", type=int, default=50)
    options = parser.parse_args(words)
    with services():
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "durable.settings")
        import django

        django.setup()
        from proof import zombies
        from proof.report import Tally

        tally = Tally(zombies.prove(print, count=options.count))
        print(*tally.table(), sep="\n")
        return 0 if tally.sound() else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
