"""`python -m proof.chaos [--seconds 60] [--seed 1] [--keep FOLDER]`: chaos, with services of its own.

Prints what struck as it strikes, and a table. Exit code 1 on any violation; `--keep` leaves history and log behind.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
from collections.abc import Sequence
from pathlib import Path

from local.throwaway import services


def main(words: Sequence[str]) -> int:
    """Prove, print the table, and return the exit code."""
    parser = argparse.ArgumentParser(prog="proof.chaos")
    parser.add_argument("--seconds", type=float, default=60, help="for how long everything is broken in turn")
    parser.add_argument("--seed", type=int, default=0, help="the order of the faults; 0: any, and printed")
    parser.add_argument("--keep", type=Path, help="a folder for the history and what the processes printed")
    parser.add_argument("--kinds", nargs="*", default=[], help="only kinds of fault that begin so")
    parser.add_argument("--no-control", action="store_true", help="without the control")
    options = parser.parse_args(words)
    seed = options.seed or random.SystemRandom().randrange(1, 10**6)
    print(f"seed {seed}", flush=True)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "durable.settings")
    with services():
        import django

        django.setup()
        from proof.chaos.kinds import KINDS, named
        from proof.chaos.play import prove
        from proof.report import Tally

        kinds = named(*options.kinds) if options.kinds else KINDS
        tally = Tally()
        tally.add(
            prove(
                lambda text: print(text, flush=True),
                seconds=options.seconds,
                seed=seed,
                kinds=kinds,
                short=bool(options.kinds),
                control=not options.no_control,
                keep=options.keep,
            )
        )
    print("\n".join(tally.table()))
    return 0 if tally.sound() else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
