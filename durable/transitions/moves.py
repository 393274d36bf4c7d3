"""Guarded moves of one row: the caller holds the run's lock, the WHERE names the state it believes in."""

from __future__ import annotations

from typing import Any

from durable.beats import inside
from durable.errors import Conflict
from durable.models import Effect, Run, Wait
from durable.models.fields import Clock
from durable.models.rows import update
from durable.states import EFFECT_MOVES, ENDED, ENDING, RUN_MOVES, EffectState, RunState, WaitState


def move_run(run: Run, to: RunState, **columns: Any) -> Run:
    """Move a locked run to `to`, with `columns` beside it. Raises Conflict where the move is not legal from its state.

    Leaving the running state gives up worker and lease; a queued or ending run is due at once unless `due_at`
    says otherwise.
    """
    inside(f"{run.ref} is to move")
    state = RunState(run.state)
    if to not in RUN_MOVES[state]:
        raise Conflict(f"{run.ref} is {state}; it cannot become {to}")
    values: dict[str, Any] = {"state": to.value, "changed_at": Clock(), **columns}
    if to in ENDED:
        values |= {"due_at": None, "ended_at": Clock(), "lease_until": None, "worker": ""}
    elif to in ENDING:
        # What its way forward has cost says nothing about its way to an end.
        values = {"crashes": 0} | values
    elif to is RunState.SUSPENDED:
        values |= {"due_at": None, "lease_until": None, "worker": ""}
    elif to is RunState.QUEUED:
        # Due at once means that its mover announces it; what falls due later is for the sweeper to announce.
        hinted = None if "due_at" in columns else Clock()
        values = {"due_at": Clock(), "hinted_at": hinted, "lease_until": None, "worker": ""} | values
    if not update(run, state.value, values):
        raise Conflict(f"{run.ref} is no longer {state}")
    return run


def move_effect(effect: Effect, to: EffectState, **columns: Any) -> Effect:
    """Move an effect of a locked run to `to`. Raises Conflict where the move is not legal from its state."""
    inside(f"{effect.key} is to move")
    state = EffectState(effect.state)
    if to not in EFFECT_MOVES[state]:
        raise Conflict(f"{effect.key} is {state}; it cannot become {to}")
    if not update(effect, state.value, {"state": to.value, **columns}):
        raise Conflict(f"{effect.key} is no longer {state}")
    return effect


def close_wait(wait: Wait, to: WaitState, *, by: str, answer: Any = None) -> bool:
    """End an open wait of a locked run. False means that something else ended it before: the caller lost the race."""
    inside(f"{wait} is to be closed")
    values = {"state": to.value, "closed_at": Clock(), "closed_by": by, "answer": answer}
    return update(wait, WaitState.OPEN.value, values)
