"""What is known of an effect's requests: whether any of them can have reached the vendor."""

from __future__ import annotations

from durable.models import Effect, LedgerEvent
from durable.states import EventKind


def never_left(effect: Effect) -> bool:
    """Whether each request so far certainly had no effect (429, no connection): the vendor knows nothing of the
    key. An effect without any request never left either.
    """
    if effect.sends == 0 or effect.open_sends:
        return effect.sends == 0
    certain = LedgerEvent.objects.filter(effect_key=effect.key, kind=EventKind.NOT_SENT.value).count()
    return certain >= effect.sends
