"""`python -m proof.promptness [--samples N]`: how soon; exit code 1 if anything took longer than is promised."""

from __future__ import annotations

import sys

from proof.alone import alone

if __name__ == "__main__":
    sys.exit(alone("promptness", sys.argv[1:], option="--samples", field="samples"))
