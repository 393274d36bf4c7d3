"""What holding a vendor's account against the ledger may find. Pure values, no database."""

from __future__ import annotations

from enum import StrEnum


class Finding(StrEnum):
    """What holding the vendor's account of a period against the ledger has found, row by row."""

    BOTH = "in both"
    BESIDE = "beside the period"  # settled with us in the period, at the vendor just before or after it
    VENDOR_ALONE = "at the vendor alone"
    LEDGER_ALONE = "in the ledger alone"
    AMOUNT = "amounts differ"
    CURRENCY = "currencies differ"
    OTHER_RECEIPT = "another receipt"  # our key, and the ledger holds another receipt under it
    DENIED = "not applied with us"  # our key, and the ledger says that it did not happen
    IN_DOUBT = "in doubt with us"  # our key, and the ledger can't tell yet


#: What is no difference.
AGREED = frozenset({Finding.BOTH, Finding.BESIDE})
