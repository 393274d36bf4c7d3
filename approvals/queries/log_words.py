"""What may come next in a query of the log: whole queries, each one word longer than what was typed."""

from __future__ import annotations

from django.contrib.auth.models import User

from approvals import access
from approvals.log_query import ABOUT, ACTOR, FROM, KEYS, KIND, KINDS, ONLIES, ONLY
from approvals.typed import quoted
from durable.journal import ENGINE

#: So many people are offered.
_PEOPLE = 20


def suggestions(text: str) -> list[dict[str, str]]:
    """Completions of a query by each word that it does not have, with what it means; for the field's list."""
    taken = {word.partition(":")[0].lower() for word in text.split()}
    before = f"{text.strip()} " if text.strip() else ""
    found = [(f"{key}:", KEYS[key]) for key in (ABOUT, FROM) if key not in taken]
    if ACTOR not in taken:
        people = User.objects.filter(is_active=True).order_by("username")[:_PEOPLE]
        found += [(f"{ACTOR}:{quoted(access.actor(person))}", "who did it") for person in people]
        found.append((f"{ACTOR}:{ENGINE}", "who did it"))
    if ONLY not in taken:
        found += [(f"{ONLY}:{word}", means) for word, means in ONLIES.items()]
    if KIND not in taken:
        found += [(f"{KIND}:{word}", "what was done") for word in sorted(KINDS)]
    return [{"text": f"{before}{word}", "means": means} for word, means in found]
