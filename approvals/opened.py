"""Sealed data for pages: a run's key is fetched once, with the run itself, however much is read under it."""

from __future__ import annotations

from typing import Any

from durable import vault
from durable.errors import InterlockError
from durable.models import Run, Sealed

#: In place of what was erased; of what an erasure or retention took from a run, which its page tells apart; and of what
#: somebody has changed behind the product's back.
ERASED = "(erased)"
GONE = "(no longer kept)"
TAMPERED = "(can't be opened: it was changed outside of the product)"

key = vault.key_of


def read(sealed: Sealed, run: Run) -> Any:
    """Return what was sealed for this run. Raises vault.Erased or vault.Tampered."""
    return vault.unseal(key(run), sealed)


def instead(error: InterlockError, lost: str = GONE) -> str:
    """What stands in place of what could not be opened; `lost` where its key is gone: what was changed is not lost."""
    return TAMPERED if isinstance(error, vault.Tampered) else lost
