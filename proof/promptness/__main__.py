"""`python -m proof.promptness [--samples N]`: how soon; exit code 1 if anything took longer than is promised."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from local.throwaway import services


def main(words: Sequence[str]) -> int:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(
        prog="proof.promptness", description="How soon: three promises, measured."
    )
    parser.add_argument("--samples", type=int, default=20)
    options = parser.parse_args(words)
    os.environ.setdefault("LOG_LEVEL", "ERROR")
    with services():
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "durable.settings")
        import django

        django.setup()
        from proof import promptness
        from proof.report import Tally

        tally = Tally(promptness.prove(print, samples=options.samples))
        print(*tally.table(), sep="\n")
        return 0 if tally.sound() else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
