"""An operator's acts on a run: when each fits, what it will do. Buttons and commands share this one table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from django.urls import reverse

from approvals import access
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
        "retries",
        "Retry",
        "refresh",
        "The step is executed again; effects that are on record are answered from it, not repeated.",
        lambda run: (run.stuck and run.state is RunState.SUSPENDED) or run.state is RunState.FAILED,
    ),
    Act(
        "skips",
        "Skip the step",
        "player-skip-forward",
        "The step stays undone. What it had asked for and was never sent is withdrawn.",
        lambda run: run.at_rest,
        form=SkipForm,
    ),
    Act(
        "state",
        "Edit state",
        "pencil",
        "The next step sees the new state; the old one stays in its checkpoint.",
        lambda run: run.at_rest,
        form=StateForm,
        needs=Capability.EDIT_STATE,
    ),
    Act(
        "forks",
        "Fork",
        "git-fork",
        "A new run from that checkpoint. It sees this run's whole ledger: what was done is not done again.",
        lambda run: run.state in ENDED or run.held,
        form=ForkForm,
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


def offered(user: User, run: Run, waits: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The acts that fit the run with these open waits, and that this person may do, for _ask.html."""
    attention = [wait for wait in waits if wait["kind"] == WaitKind.ATTENTION]
    doubts = [wait for wait in attention if wait["effect__key"]]
    situation = Situation(RunState(run.state), run.held, len(attention) > len(doubts), bool(doubts))
    held = access.capabilities(user)
    fitting = [act for act in ACTS if act.needs in held and act.fits(situation)]
    initial: dict[str, Any] = {"version": run.version}
    if any(act.form is StateForm for act in fitting):
        initial["state"] = working_state(run)
    return [_shown(act, run, initial) for act in fitting]


def _shown(act: Act, run: Run, initial: Mapping[str, Any]) -> dict[str, Any]:
    form = act.form(auto_id=f"{act.noun}-%s", initial=dict(initial))
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
