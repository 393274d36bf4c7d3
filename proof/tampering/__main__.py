"""`python -m proof.tampering [--trials N]`: a superuser rewrites the ledger; exit code 1 where he is not found out."""

from __future__ import annotations

import sys

from proof.alone import alone

if __name__ == "__main__":
    sys.exit(alone("tampering", sys.argv[1:], option="--trials", field="trials"))
