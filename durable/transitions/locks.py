"""The locks that commands take, in this order: run, wait, effect. Each is held until the caller's transaction ends."""

from __future__ import annotations

from durable.beats import inside
from durable.errors import NotFound
from durable.models import Budget, Effect, Run, Wait
from durable.models.rows import columns, made
from durable.sql import answer

LOCK_RUN = f"""
SELECT {columns(Run, "r")}, {columns(Budget, "b")} FROM durable_run r JOIN durable_budget b ON b.id = r.budget_id
WHERE r.ref = %(ref)s FOR UPDATE OF r
"""
_RUN = len(Run._meta.concrete_fields)
LOCK_WAIT = f"""
SELECT {columns(Wait, "w")} FROM durable_wait w WHERE w.id = %(wait)s AND w.run_id = %(run)s FOR UPDATE
"""
LOCK_EFFECT = f"""
SELECT {columns(Effect, "e")} FROM durable_effect e WHERE e.id = %(effect)s AND e.run_id = %(run)s FOR UPDATE
"""


def lock_run(ref: str) -> Run:
    """Lock the run's row and return it, with its budget. Raises NotFound."""
    inside(f"{ref} is to be locked")
    row = answer(LOCK_RUN, {"ref": ref})
    if row is None:
        raise NotFound(f"no run {ref}")
    run = made(Run, row[:_RUN])
    run.budget = made(Budget, row[_RUN:])
    return run


def lock_wait(run: Run, wait_id: int) -> Wait:
    """Lock a wait of a locked run and read it anew. Raises NotFound."""
    inside(f"a wait of {run.ref} is to be locked")
    row = answer(LOCK_WAIT, {"wait": wait_id, "run": run.pk})
    if row is None:
        raise NotFound(f"no such wait of {run.ref}")
    wait = made(Wait, row)
    wait.run = run
    return wait


def lock_effect(run: Run, effect_id: int) -> Effect:
    """Lock an effect of a locked run and read it anew. Raises NotFound."""
    inside(f"an effect of {run.ref} is to be locked")
    row = answer(LOCK_EFFECT, {"effect": effect_id, "run": run.pk})
    if row is None:
        raise NotFound(f"no such effect of {run.ref}")
    effect = made(Effect, row)
    effect.run = run
    return effect
