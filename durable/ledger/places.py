"""Where in a run an effect stands, and the idempotency key that follows from it.

The key comes from the work, never from the attempt: `run:step`, with `@2` for a later visit of the step, `#2` for its
later effects, `~2` for a key linked to an older one, `:undo` for what undoes it.
"""

from __future__ import annotations

from dataclasses import dataclass

from durable.models import Effect, Run


@dataclass(frozen=True, slots=True)
class Place:
    """The n-th effect (`ordinal`, from 1) of the n-th visit of a step."""

    step: str
    visit: int
    ordinal: int


def key_of(run_ref: str, place: Place, link: int = 1) -> str:
    """Return the idempotency key of an effect."""
    key = f"{run_ref}:{place.step}"
    if place.visit > 1:
        key += f"@{place.visit}"
    if place.ordinal > 1:
        key += f"#{place.ordinal}"
    return linked(key, link)


def undo_key_of(undone: Effect, link: int = 1) -> str:
    """Return the key of the act that undoes `undone`."""
    return linked(f"{undone.key}:undo", link)


def linked(key: str, link: int) -> str:
    """Return the key for the `link`-th effect at one place; the first bears the plain key."""
    return f"{key}~{link}" if link > 1 else key


def at(run: Run, place: Place, undo_of: Effect | None = None) -> Effect | None:
    """Return the effect at a place: the newest link, since that is the one that still may act."""
    return (
        Effect.objects.select_related("payload", "payload_asked", "proof", "facts", "words")
        .filter(run_id=run.pk, step=place.step, visit=place.visit, ordinal=place.ordinal, undo_of=undo_of)
        .order_by("-link")
        .first()
    )


def inherited(run: Run, place: Place) -> Effect | None:
    """Return the effect that an ancestor of a fork has at this place, the nearest ancestor's first."""
    parent = run.parent
    while parent is not None:
        found = at(parent, place)
        if found is not None:
            return found
        parent = parent.parent
    return None
