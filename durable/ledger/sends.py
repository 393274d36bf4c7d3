"""What is known of an effect's requests: whether any of them can have reached the vendor, or has been forgotten."""

from __future__ import annotations

from typing import Any

from django.conf import settings

from durable.models import Effect, LedgerEvent, Recovery, Run
from durable.states import EventKind


def never_left(effect: Effect) -> bool:
    """Whether each request so far certainly had no effect (429, no connection): the vendor knows nothing of the
    key. An effect without any request never left either.
    """
    if effect.sends == 0 or effect.open_sends:
        return effect.sends == 0
    certain = LedgerEvent.objects.filter(effect_key=effect.key, kind=EventKind.NOT_SENT.value).count()
    return certain >= effect.sends


def perhaps_used(run: Run, effect: Effect) -> bool:
    """Whether the key of an effect of `run` may have been used, since `first_sent_at`, by a request that a restore has
    made us forget: a look-up found nothing of it then, and what a vendor shows too late it may show still.
    """
    if run.recovery is None or effect.first_sent_at is None:
        return False
    return effect.first_sent_at < run.recovery.at


def forgotten(run: Run) -> dict[str, Any]:
    """Return the columns of an effect of a run that came out of a backup: a request of it may have been forgotten.

    Nothing for any other run.
    """
    if run.recovery is None:
        return {}
    return {"forgotten_since": run.forgotten_since, **quiet_after(run.recovery)}


def quiet_after(recovery: Recovery) -> dict[str, Any]:
    """Return the columns that say when the last forgotten request must have been over: one lease after the restore."""
    over = recovery.at + settings.LEASE_SECONDS
    return {"send_by": over, "next_look_at": over}
