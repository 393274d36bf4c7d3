"""Sealed data for pages: a run's key is fetched once, with the run itself, however much is read under it."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import ObjectDoesNotExist

from durable import vault
from durable.models import Run, Sealed


def key(run: Run) -> bytes:
    """Return the run's sealing key; no query where the run was loaded with `seal_key`. Raises vault.Erased."""
    try:
        wrapped = run.seal_key.wrapped
    except ObjectDoesNotExist:
        wrapped = None
    if wrapped is None:
        raise vault.Erased(f"the personal data of {run.ref} has been erased")
    return vault.unwrap(bytes(wrapped), run.ref)


def read(sealed: Sealed, run: Run) -> Any:
    """Return what was sealed for this run. Raises vault.Erased or vault.Tampered."""
    return vault.unseal(key(run), sealed)
