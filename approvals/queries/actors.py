"""Who did something, as people read it: a person's full name, `worker host:17`, or Interlock itself."""

from __future__ import annotations

import re
from collections.abc import Iterable

from django.contrib.auth.models import User

from durable import acts
from durable.journal import ENGINE

INTERLOCK = "Interlock"

#: Workers sign with host and process; people and programs never do.
_WORKER = re.compile(r"[^\s:]+:\d+")


def names(actors: Iterable[str]) -> dict[str, str]:
    """Return what to call each of the ledger's actors; one query, and none where no person can be among them."""
    wanted = set(actors)
    shown = {actor: _shown(actor) for actor in wanted}
    people = [actor for actor in wanted if actor and shown[actor] == actor]
    if people:
        for person in User.objects.filter(username__in=people):
            shown[person.username] = person.get_full_name() or person.username
    return shown


def stored(name: str) -> str:
    """An actor as the ledger has them, from what a person types."""
    return ENGINE if name.casefold() == INTERLOCK.casefold() else name.removeprefix("worker ")


def _shown(actor: str) -> str:
    if actor == ENGINE:
        return INTERLOCK
    if actor == acts.STRANGER:
        return "Somebody"
    return f"worker {actor}" if _WORKER.fullmatch(actor) else actor
