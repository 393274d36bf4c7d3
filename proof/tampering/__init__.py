"""A superuser of the database rewrites the ledger, and `durable.roots.verify` must find where.

Eight kinds of tampering, each as deep as whoever does it can go: the rows alone; with the chain computed anew; with the
roots made anew under a key of his own; and with our signing key in his hands. In the last case nothing in the database
gives him away, which the proof shows as well, and only what was kept outside does. Between the trials the ledger grows
by ordinary work, and each time nothing must be found.
"""

from __future__ import annotations

from proof.report import Row, Say


def prove(say: Say, *, trials: int, seed: int) -> list[Row]:
    """Try each kind so often, on services that may be spoilt and a database that is empty."""
    from proof.tampering import ledger, trying

    with ledger.filled() as found:
        return trying.all_kinds(say, found, trials, seed)
