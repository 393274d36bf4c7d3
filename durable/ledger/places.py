"""Where in a run an effect stands, and the idempotency key that follows from it.

The key comes from the work, never from the attempt: `run:step`, with `@2` for a later visit of the step, `#2` for its
later effects, `~2` for a key linked to an older one, `:undo` for what undoes it.
"""

from __future__ import annotations

from dataclasses import dataclass

from durable.models import Effect, Run, Sealed
from durable.models.rows import columns, made, parted
from durable.sql import answer, listed
from durable.states import OPEN, EffectState

#: What is sealed of an effect; read with it.
_SEALED = ("payload", "payload_asked", "proof", "facts", "words")
_EFFECT, _BOX = len(Effect._meta.concrete_fields), len(Sealed._meta.concrete_fields)
_AT = f"""
SELECT {columns(Effect, "e")}, {", ".join(columns(Sealed, name) for name in _SEALED)} FROM durable_effect e
{" ".join(f"LEFT JOIN durable_sealed {name} ON {name}.id = e.{name}_id" for name in _SEALED)}
WHERE e.run_id = %(run)s AND e.step = %(step)s AND e.visit = %(visit)s AND e.ordinal = %(ordinal)s
  AND e.undo_of_id IS NOT DISTINCT FROM %(undo_of)s
ORDER BY e.link DESC LIMIT 1
"""


#: Of the runs that draw on one budget, whoever has asked at this place before the asking run did.
_KIN = f"""
SELECT {columns(Effect, "e")}, {columns(Run, "kin")} FROM durable_run r
JOIN durable_run kin ON kin.budget_id = r.budget_id AND kin.id <> r.id
JOIN durable_effect e ON e.run_id = kin.id
WHERE r.id = %(run)s AND e.step = %(step)s AND e.visit = %(visit)s AND e.ordinal = %(ordinal)s
  AND e.undo_of_id IS NULL AND e.state IN ({listed({*OPEN, EffectState.APPLIED})})
  AND NOT EXISTS (
    SELECT FROM durable_effect own
    WHERE own.run_id = r.id AND own.step = e.step AND own.visit = e.visit AND own.ordinal = e.ordinal
      AND own.undo_of_id IS NULL AND own.id < e.id
  )
ORDER BY e.id DESC LIMIT 1
"""


#: What earlier visits of a step have applied and nobody has undone, of a run and those that it was forked from: for the
#: first visit since somebody skipped to a step that had been visited before.
_AGAIN = """
WITH RECURSIVE line AS (
    SELECT id, parent_id FROM durable_run WHERE id = %(run)s
    UNION
    SELECT r.id, r.parent_id FROM durable_run r JOIN line ON r.id = line.parent_id
)
SELECT e.key FROM line JOIN durable_effect e ON e.run_id = line.id
WHERE e.step = %(step)s AND e.visit < %(visit)s AND e.undo_of_id IS NULL AND e.state = 'applied'
  AND NOT EXISTS (SELECT FROM durable_effect u WHERE u.undo_of_id = e.id AND u.state = 'applied')
  AND EXISTS (
    SELECT FROM line JOIN durable_checkpoint c ON c.run_id = line.id AND c.kind = 'skip'
    WHERE c.next_visit > 1 AND (c.progress ->> %(step)s)::int = %(visit)s - 1
  )
ORDER BY e.id DESC LIMIT 1
"""


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
    row = answer(
        _AT,
        {
            "run": run.pk,
            "step": place.step,
            "visit": place.visit,
            "ordinal": place.ordinal,
            "undo_of": None if undo_of is None else undo_of.pk,
        },
    )
    if row is None:
        return None
    effect = made(Effect, row[:_EFFECT])
    for no, name in enumerate(_SEALED):
        box = row[_EFFECT + no * _BOX : _EFFECT + (no + 1) * _BOX]
        setattr(effect, name, None if box[0] is None else made(Sealed, box))
    return effect


def inherited(run: Run, place: Place) -> Effect | None:
    """Return the effect that an ancestor of a fork has at this place, the nearest ancestor's first."""
    parent = run.parent
    while parent is not None:
        found = at(parent, place)
        if found is not None:
            return found
        parent = parent.parent
    return None


def of_kin(run: Run, place: Place) -> Effect | None:
    """Return the effect that a run of the same budget has at this place, or asks people about, the newest first.

    Runs share a budget where one was forked from the other, or both from a third. What they asked after `run` itself
    had an effect here does not count: of two, the first one is not held up by the second.
    """
    values = {"run": run.pk, "step": place.step, "visit": place.visit, "ordinal": place.ordinal}
    row = answer(_KIN, values)
    if row is None:
        return None
    its, whose, _ = parted(row, Effect, Run)
    effect = made(Effect, its)
    effect.run = made(Run, whose)
    return effect


def done_before(run: Run, place: Place) -> str | None:
    """Return the key of what an earlier visit of the step has done, where this visit is due to a skip back.

    The newest; None where there is none, or where the code itself has come by again, as a loop does.
    """
    if place.visit == 1 or not run.may_go_again:
        return None
    row = answer(_AGAIN, {"run": run.pk, "step": place.step, "visit": place.visit})
    return None if row is None else str(row[0])
