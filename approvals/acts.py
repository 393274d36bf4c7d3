"""An operator's acts on a run, and when each fits. Buttons and commands share this one table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from django.urls import reverse

from approvals import access, radius
from approvals.capabilities import Capability
from approvals.queries import erasures
from approvals.queries import run as one_run
from approvals.run_forms import CancelForm, ForkForm, SkipForm, StateForm, SteerForm
from durable.models import Run
from durable.states import ENDED, ENDING, OPEN, RunState, WaitKind

_FORWARD = frozenset({RunState.QUEUED, RunState.RUNNING, RunState.SUSPENDED})
_UNDOABLE = frozenset({RunState.COMPLETED, RunState.FAILED, RunState.CANCELLED})


@dataclass(frozen=True, slots=True)
class Situation:
    """How a run stands, as far as acts depend on it."""

    state: RunState
    held: bool
    stuck: bool  # a person must look, and about no effect
    in_doubt: bool  # the vendor may have an effect of it that is not settled: that one needs a verdict first
    driven: bool = False  # a worker has it
    done: bool = True  # it has applied something that is not undone yet

    @property
    def at_rest(self) -> bool:
        """Nobody drives it, and somebody has to look at it anyway."""
        return self.state is RunState.SUSPENDED and (self.held or self.stuck) and not self.in_doubt

    @property
    def resumable(self) -> bool:
        """It waits for a person about its step, or about its way back: a retry is how it goes on."""
        ending = self.state in ENDING and not self.driven
        return self.stuck and (self.state is RunState.SUSPENDED or ending)


@dataclass(frozen=True, slots=True)
class Act:
    """One act: its noun in the address, its button, and when it fits. `radius` says what it will do.

    `part` is the part of `durable.standing` that must still hold when it is done. A `leads` act may be the main one.
    `verb` is what the button says that does it, where the label alone would not say what it is about.
    """

    noun: str
    label: str
    icon: str
    fits: Callable[[Situation], bool]
    kind: str = ""
    form: type[SteerForm] = SteerForm
    needs: Capability = Capability.STEER_RUNS
    part: str = "whole"
    leads: bool = False
    verb: str = ""


#: In the order of the buttons: what gets a run going again comes before what stops it.
ACTS: tuple[Act, ...] = (
    Act("releases", "Release", "player-play", lambda run: run.held, leads=True),
    Act(
        "retries",
        "Retry",
        "refresh",
        lambda run: run.resumable or run.state is RunState.FAILED,
        leads=True,
    ),
    Act("skips", "Skip the step", "player-skip-forward", lambda run: run.at_rest, form=SkipForm),
    Act(
        "state",
        "Edit state",
        "pencil",
        lambda run: run.at_rest,
        form=StateForm,
        needs=Capability.EDIT_STATE,
    ),
    Act("forks", "Fork", "git-fork", lambda run: run.state in ENDED or run.held, form=ForkForm),
    Act("holds", "Hold", "player-pause", lambda run: run.state in _FORWARD and not run.held, part="stop"),
    Act(
        "compensations",
        "Compensate",
        "arrow-back-up",
        lambda run: run.state in _UNDOABLE and run.done,
        kind="danger",
    ),
    Act(
        "cancellations",
        "Cancel",
        "square-x",
        lambda run: run.state in _FORWARD or run.state is RunState.FAILING,
        kind="danger",
        form=CancelForm,
        part="done",
        verb="Cancel the run",
    ),
)


def situation(found: one_run.Read) -> Situation:
    """How the run of a page stands."""
    attention = [wait for wait in found.open_waits if wait["kind"] == WaitKind.ATTENTION]
    stuck = any(wait["effect__key"] is None for wait in attention)  # an alarm keeps no run from going on
    doubt = bool(found.tally.some(OPEN, unanswered=True))
    run = found.run
    driven, done = run.lease_until is not None, bool(found.tally.undoable)
    return Situation(RunState(run.state), run.held, stuck, doubt, driven, done)


def offered(
    user: User,
    found: one_run.Read,
    *,
    lead: bool = True,
    typed: Mapping[str, SteerForm] | None = None,
) -> list[dict[str, Any]]:
    """The acts that fit the run, and that this person may do, for _ask.html.

    With `lead` the first that gets the run going is the main button; without, the page has another one. `typed` are
    forms that were refused, by noun: they are shown as they were filled in.
    """
    stands, held = situation(found), access.capabilities(user)
    # A run whose data was erased can't act again: nobody knows any more for whom.
    acts = () if erasures.is_erased(found.run) else ACTS
    fitting = [act for act in acts if act.needs in held and act.fits(stands)]
    initial: dict[str, Any] = {"version": found.run.version}
    if any(act.form is StateForm for act in fitting):
        initial["state"] = one_run.working_state(found.run)
    shown = [_shown(act, scene(found), found, initial, (typed or {}).get(act.noun)) for act in fitting]
    for act, drawn in zip(fitting, shown, strict=True):
        if act.noun == "retries":
            drawn |= _retry(found.run, resumes=stands.resumable)
        if lead and act.leads:
            drawn["kind"], lead = "main", False
    return shown


def scene(found: one_run.Read) -> radius.Scene:
    """What the sentences of the acts are made from."""
    points = [one_run.point(one) for one in found.points]
    return radius.Scene(found.run, found.tally, points, found.open_waits, found.spend)


def _retry(run: Run, *, resumes: bool) -> dict[str, Any]:
    """A retry is how a stuck run is resumed, and its button says so."""
    step = run.step if run.step and run.state not in ENDING else ""
    label = " ".join(filter(None, ["Resume: retry" if resumes else "Retry", step]))
    return {"label": label, "verb": label, "title": f"{'Resume' if resumes else 'Retry'}: {run.ref}"}


def _shown(
    act: Act, seen: radius.Scene, found: one_run.Read, initial: Mapping[str, Any], typed: SteerForm | None
) -> dict[str, Any]:
    form = typed or act.form(auto_id=f"{act.noun}-%s", initial=dict(initial))
    if isinstance(form, ForkForm):
        form.offer(seen.checkpoints)
    elif isinstance(form, SkipForm):
        form.offer(radius.steps(seen.run))
    return {
        "id": act.noun,
        "url": reverse(act.noun, args=[seen.run.ref]),
        "label": act.label,
        "icon": act.icon,
        "kind": act.kind,
        "title": f"{act.label}: {seen.run.ref}",
        "preview": radius.of(act.noun, seen),
        "reason": "required",
        "hidden": {"seen": getattr(found.stands, act.part)},
        # The reason has its place in the dialogue, and what was seen is not typed.
        "fields": [field for field in form if field.name not in ("reason", "seen", "shown")],
        "verb": act.verb or act.label,
    }


def fits(noun: str, found: one_run.Read) -> bool:
    """Whether an act fits the run, whoever may do it."""
    return next(act for act in ACTS if act.noun == noun).fits(situation(found))


def forkable(user: User, run: Run) -> bool:
    """Whether this person is offered forks of this run."""
    may = access.may(user, Capability.STEER_RUNS) and not erasures.is_erased(run)
    return may and (run.state in ENDED or run.held)
