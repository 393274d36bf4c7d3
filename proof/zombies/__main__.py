"""`python -m proof.zombies [--count N]`: workers that wake up too late; exit code 1 if unsound."""

from __future__ import annotations

import sys

from proof.alone import alone

if __name__ == "__main__":
    sys.exit(alone("zombies", sys.argv[1:], option="--count", field="zombies"))
