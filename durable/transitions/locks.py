"""The locks that commands take, in this order: run, wait, effect. Each is held until the caller's transaction ends."""

from __future__ import annotations

from typing import TypeVar

from durable.beats import inside
from durable.errors import NotFound
from durable.models import Budget, Effect, Run, Wait
from durable.models.rows import columns, made, parted
from durable.sql import answer

OfRun = TypeVar("OfRun", Wait, Effect)

LOCK_RUN = f"""
SELECT {columns(Run, "r")}, {columns(Budget, "b")} FROM durable_run r JOIN durable_budget b ON b.id = r.budget_id
WHERE r.ref = %(ref)s FOR UPDATE OF r
"""
LOCK_WAIT = f"""
SELECT {columns(Wait, "w")} FROM durable_wait w WHERE w.id = %(id)s AND w.run_id = %(run)s FOR UPDATE
"""
LOCK_EFFECT = f"""
SELECT {columns(Effect, "e")} FROM durable_effect e WHERE e.id = %(id)s AND e.run_id = %(run)s FOR UPDATE
"""


def lock_run(ref: str) -> Run:
    """Lock the run's row and return it, with its budget. Raises NotFound."""
    inside(f"{ref} is to be locked")
    row = answer(LOCK_RUN, {"ref": ref})
    if row is None:
        raise NotFound(f"no run {ref}")
    its, budget, _ = parted(row, Run, Budget)
    run = made(Run, its)
    run.budget = made(Budget, budget)
    return run


def lock_wait(run: Run, wait_id: int) -> Wait:
    """Lock a wait of a locked run and read it anew. Raises NotFound."""
    return _locked(Wait, LOCK_WAIT, run, wait_id)


def lock_effect(run: Run, effect_id: int) -> Effect:
    """Lock an effect of a locked run and read it anew. Raises NotFound."""
    return _locked(Effect, LOCK_EFFECT, run, effect_id)


def _locked(model: type[OfRun], statement: str, run: Run, id: int) -> OfRun:
    name = model._meta.verbose_name
    inside(f"{name} {id} of {run.ref} is to be locked")
    row = answer(statement, {"id": id, "run": run.pk})
    if row is None:
        raise NotFound(f"no such {name} of {run.ref}")
    found = made(model, row)
    found.run = run
    return found
