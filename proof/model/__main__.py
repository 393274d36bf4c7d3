"""`python -m proof.model [--guard NAME | --list]`: the model's part of the proof alone, or what one guard is for."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from proof.model import prove
from proof.model.guards import Guard
from proof.model.prove import told
from proof.model.scenarios import SHOWS
from proof.model.search import search
from proof.report import Tally


def main(argv: Sequence[str]) -> int:
    """Print what was asked for. Returns 1 where something is wrong with all guards on, or right without one."""
    parser = argparse.ArgumentParser(prog="python -m proof.model", description=__doc__)
    names = [guard.name for guard in Guard]
    parser.add_argument("--guard", choices=names, metavar="NAME", help=f"one of {', '.join(names)}")
    parser.add_argument(
        "--list", action="store_true", help="every guard, its rule, and the guard of the code"
    )
    options = parser.parse_args(argv)
    if options.list:
        for guard in Guard:
            print(f"{guard.name}: {guard.rule}\n    {guard.stands_for}")
        return 0
    if options.guard:
        guard = Guard[options.guard]
        found = search(SHOWS[guard].without(guard))
        print(*told(guard, found), f"It stands for {guard.stands_for}", sep="\n")
        return 0 if found.wrong else 1
    tally = Tally()
    tally.add(prove(print))
    print(*tally.table(), sep="\n")
    return 0 if tally.sound() else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
