"""An operator's acts on a run: when each fits, what it will do. Buttons and commands share this one table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from django.urls import reverse

from approvals import access
from approvals.capabilities import Capability
from approvals.forms import CancelForm, ReasonForm
from durable.models import Run
from durable.states import RunState

_FORWARD = frozenset({RunState.QUEUED, RunState.RUNNING, RunState.SUSPENDED})
_UNDOABLE = frozenset({RunState.COMPLETED, RunState.FAILED, RunState.CANCELLED})


@dataclass(frozen=True, slots=True)
class Situation:
    """How a run stands, as far as acts depend on it."""

    state: RunState
    held: bool
    stuck: bool
    version: int


@dataclass(frozen=True, slots=True)
class Act:
    """One act: its noun in the address, its button, what it will do in a sentence, and when it fits."""

    noun: str
    label: str
    icon: str
    preview: str
    fits: Callable[[Situation], bool]
    kind: str = ""
    form: type[ReasonForm] = ReasonForm
    needs: Capability = Capability.STEER_RUNS


ACTS: tuple[Act, ...] = (
    Act(
        "releases",
        "Release",
        "player-play",
        "It goes on from where it stands.",
        lambda run: run.held,
        kind="main",
    ),
    Act(
        "holds",
        "Hold",
        "player-pause",
        "Nothing more leaves until somebody releases it.",
        lambda run: run.state in _FORWARD and not run.held,
    ),
    Act(
        "compensations",
        "Compensate",
        "arrow-back-up",
        "Undoes what it has applied, in reverse order. What can't be undone is listed.",
        lambda run: run.state in _UNDOABLE,
        kind="danger",
    ),
    Act(
        "cancellations",
        "Cancel",
        "square-x",
        "No new effect starts; what is under way is settled first. Open gates are withdrawn.",
        lambda run: run.state in _FORWARD or run.state is RunState.FAILING,
        kind="danger",
        form=CancelForm,
    ),
)


def offered(user: User, run: Run, *, stuck: bool) -> list[dict[str, Any]]:
    """The acts that fit the run and that this person may do, for _ask.html."""
    situation = Situation(RunState(run.state), run.held, stuck, run.version)
    held = access.capabilities(user)
    return [_shown(act, run) for act in ACTS if act.needs in held and act.fits(situation)]


def _shown(act: Act, run: Run) -> dict[str, Any]:
    form = act.form(auto_id=f"{act.noun}-%s", initial={"version": run.version})
    return {
        "id": act.noun,
        "url": reverse(act.noun, args=[run.ref]),
        "label": act.label,
        "icon": act.icon,
        "kind": act.kind,
        "title": f"{act.label} {run.ref}",
        "preview": [act.preview],
        "reason": "required",
        "hidden": {},
        # The reason has its own place in the dialogue.
        "fields": [field for field in form if field.name != "reason"],
        "verb": act.label,
    }
