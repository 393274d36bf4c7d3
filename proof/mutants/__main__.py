"""`python -m proof.mutants [GUARD ...]`: break the guards one at a time; exit 1 where a break was not noticed."""

from __future__ import annotations

import sys

from proof.mutants.breaking import prove
from proof.report import Tally


def main() -> int:
    tally = Tally(prove(print, names=sys.argv[1:]))
    for line in tally.table():
        print(line)
    return 0 if tally.sound() else 1


if __name__ == "__main__":
    sys.exit(main())
