"""Sealed data for pages: a run's key is fetched once, with the run itself, however much is read under it."""

from __future__ import annotations

from typing import Any

from durable import vault
from durable.models import Run, Sealed

key = vault.key_of


def read(sealed: Sealed, run: Run) -> Any:
    """Return what was sealed for this run. Raises vault.Erased or vault.Tampered."""
    return vault.unseal(key(run), sealed)
