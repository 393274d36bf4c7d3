"""An operator's acts on a run, and when each fits. Buttons and commands share this one table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from django.urls import reverse

from approvals import access, radius
from approvals.capabilities import Capability
from approvals.forms import CancelForm, ForkForm, ReasonForm, SkipForm, StateForm
from approvals.queries.run import working_state
from durable.models import Run
from durable.states import ENDED, RunState, WaitKind

_FORWARD = frozenset({RunState.QUEUED, RunState.RUNNING, RunState.SUSPENDED})
_UNDOABLE = frozenset({RunState.COMPLETED, RunState.FAILED, RunState.CANCELLED})


@dataclass(frozen=True, slots=True)
class Situation:
    """How a run stands, as far as acts depend on it."""

    state: RunState
    held: bool
    stuck: bool  # a person must look, and about no effect in doubt: that one needs a verdict first
    in_doubt: bool

    @property
    def at_rest(self) -> bool:
        """Nobody drives it, and somebody has to look at it anyway."""
        return self.state is RunState.SUSPENDED and (self.held or self.stuck) and not self.in_doubt


@dataclass(frozen=True, slots=True)
class Act:
    """One act: its noun in the address, its button, and when it fits. `radius` says what it will do."""

    noun: str
    label: str
    icon: str
    fits: Callable[[Situation], bool]
    kind: str = ""
    form: type[ReasonForm] = ReasonForm
    needs: Capability = Capability.STEER_RUNS


ACTS: tuple[Act, ...] = (
    Act(
        "releases",
        "Release",
        "player-play",
        lambda run: run.held,
        kind="main",
    ),
    Act(
        "holds",
        "Hold",
        "player-pause",
        lambda run: run.state in _FORWARD and not run.held,
    ),
    Act(
        "retries",
        "Retry",
        "refresh",
        lambda run: (run.stuck and run.state is RunState.SUSPENDED) or run.state is RunState.FAILED,
    ),
    Act(
        "skips",
        "Skip the step",
        "player-skip-forward",
        lambda run: run.at_rest,
        form=SkipForm,
    ),
    Act(
        "state",
        "Edit state",
        "pencil",
        lambda run: run.at_rest,
        form=StateForm,
        needs=Capability.EDIT_STATE,
    ),
    Act(
        "forks",
        "Fork",
        "git-fork",
        lambda run: run.state in ENDED or run.held,
        form=ForkForm,
    ),
    Act(
        "compensations",
        "Compensate",
        "arrow-back-up",
        lambda run: run.state in _UNDOABLE,
        kind="danger",
    ),
    Act(
        "cancellations",
        "Cancel",
        "square-x",
        lambda run: run.state in _FORWARD or run.state is RunState.FAILING,
        kind="danger",
        form=CancelForm,
    ),
)


def offered(
    user: User,
    run: Run,
    waits: Sequence[Mapping[str, Any]],
    effects: Sequence[Mapping[str, Any]],
    checkpoints: Sequence[Mapping[str, Any]],
) -> list[dict[str, Any]]:
    """The acts that fit the run with these open waits, and that this person may do, for _ask.html.

    `effects` and `checkpoints` are the rows of the run's page: from them each act says what it will do.
    """
    attention = [wait for wait in waits if wait["kind"] == WaitKind.ATTENTION]
    doubts = [wait for wait in attention if wait["effect__key"]]
    situation = Situation(RunState(run.state), run.held, len(attention) > len(doubts), bool(doubts))
    held = access.capabilities(user)
    fitting = [act for act in ACTS if act.needs in held and act.fits(situation)]
    scene = radius.Scene(run, effects, checkpoints, waits)
    initial: dict[str, Any] = {"version": run.version}
    if any(act.form is StateForm for act in fitting):
        initial["state"] = working_state(run)
    return [_shown(act, scene, initial) for act in fitting]


def _shown(act: Act, scene: radius.Scene, initial: Mapping[str, Any]) -> dict[str, Any]:
    form = act.form(auto_id=f"{act.noun}-%s", initial=dict(initial))
    if isinstance(form, ForkForm):
        form.offer(scene.checkpoints)
    elif isinstance(form, SkipForm):
        form.offer(radius.steps(scene.run))
    return {
        "id": act.noun,
        "url": reverse(act.noun, args=[scene.run.ref]),
        "label": act.label,
        "icon": act.icon,
        "kind": act.kind,
        "title": f"{act.label}: {scene.run.ref}",
        "preview": radius.of(act.noun, scene),
        "reason": "required",
        "hidden": {},
        # The reason has its own place in the dialogue.
        "fields": [field for field in form if field.name != "reason"],
        "verb": act.label,
    }
