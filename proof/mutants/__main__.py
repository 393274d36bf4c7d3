"""`python -m proof.mutants [GUARD ...]`: break the guards one at a time; exit 1 where a break was not noticed.

`--lines [--module PATH ...] [--seconds N] [--seed S] [--most N] [--folder F]` breaks every line of modules instead.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from proof.mutants.breaking import prove
from proof.mutants.lines.run import prove_lines
from proof.report import Tally


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m proof.mutants", description=__doc__)
    parser.add_argument("guards", nargs="*", help="the guards to break; all if none is named")
    parser.add_argument("--lines", action="store_true", help="break every line of modules instead")
    parser.add_argument("--module", action="append", default=[], help="a file or folder; may be repeated")
    parser.add_argument("--seconds", type=float, default=3600.0, help="how long changes may be tried")
    parser.add_argument("--seed", type=int, default=1, help="gives the order in which changes are tried")
    parser.add_argument("--most", type=float, default=20.0, help="seconds of tests for one change")
    parser.add_argument("--folder", type=Path, help="where to keep the map of tests and the results")
    wanted = parser.parse_args()
    if wanted.lines:
        ran = prove_lines(
            print,
            modules=wanted.module,
            seconds=wanted.seconds,
            seed=wanted.seed,
            most=wanted.most,
            folder=wanted.folder,
        )
        return 0 if ran else 1
    tally = Tally(prove(print, names=wanted.guards))
    for line in tally.table():
        print(line)
    return 0 if tally.sound() else 1


if __name__ == "__main__":
    sys.exit(main())
