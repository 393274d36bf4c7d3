"""`python -m proof.drive RUN [--die NAME[:HIT]] [--without GUARD]`: one process that takes one run as far as it goes.

It waits until the run may be claimed, so that it can take over from one that was killed. `--without lookup.skip`
takes a guard out, to show what happens then. Exit code 0 once it has driven the run, 1 if there was nothing to claim.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence

_PATIENCE = 20.0


def command(run_ref: str, *, die: str = "", without: str = "") -> tuple[str, ...]:
    """Return the words that start such a process."""
    own = (*(("--die", die) if die else ()), *(("--without", without) if without else ()))
    return (sys.executable, "-m", "proof.drive", run_ref, *own)


def main(words: Sequence[str]) -> int:
    """Drive, and return the exit code."""
    parser = argparse.ArgumentParser(prog="proof.drive")
    parser.add_argument("run")
    parser.add_argument("--die", default="", metavar="NAME[:HIT]", help="the fault point at which it dies")
    parser.add_argument("--without", default="", metavar="GUARD", help="a guard that is taken out")
    options = parser.parse_args(words)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "durable.settings")
    import django

    django.setup()
    from durable import faults, runner
    from proof.dying import arm, lead_a_group

    lead_a_group()
    if options.die:
        arm(options.die)
    if options.without:
        faults.turn(options.without, True)
    end = time.monotonic() + _PATIENCE
    while not runner.drive(options.run):
        if time.monotonic() > end:
            return 1
        time.sleep(0.05)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
