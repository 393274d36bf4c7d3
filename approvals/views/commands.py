"""An operator's commands to a run: each posts a reason and what the person was shown, calls one command of the engine,
and leads back to the run. Where the run has moved on since, nothing is done, and what the act would do now is shown.
"""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.urls import reverse

from approvals import access, htmx, problems
from approvals.acts import ACTS
from approvals.capabilities import Capability
from approvals.run_forms import SteerForm
from approvals.views import fork as fork_page
from approvals.views.doors import SignedIn, door
from approvals.views.run import show
from durable import runs, steering
from durable.errors import InterlockError, Invalid, Moved
from durable.models import Run

#: Gets the run's id, the actor, and the form's values; returns the id of the run to show next.
Command = Callable[[str, str, dict[str, Any]], str]
#: Gets the request, the run and the form; returns a page to be looked at first, or None. May raise as commands do.
Look = Callable[[SignedIn, Run, SteerForm], HttpResponse | None]


def _command(
    noun: str,
    done: str,
    command: Command,
    refuse: Callable[..., HttpResponse] = show,
    look: Look = lambda request, found, form: None,
) -> Callable[..., HttpResponse]:
    """Build the view of one command. `done` is what the page says afterwards, `refuse` shows why it was not done."""
    act = next(act for act in ACTS if act.noun == noun)

    @door("POST")
    def view(request: SignedIn, ref: str) -> HttpResponse:
        found = access.get_run(request.user, ref)
        access.check(request.user, act.needs)
        form = act.form(request.POST, auto_id=f"{noun}-%s")
        bad = HTTPStatus.UNPROCESSABLE_ENTITY
        if not form.is_valid():
            problem = f"Nothing was done: {problems.of_form(form)}."
            return refuse(request, found, status=bad, problem=problem, again=noun, form=form)
        if form.changes:
            access.check(request.user, Capability.EDIT_STATE)
        try:
            if first := look(request, found, form):
                return first
            follow = command(ref, access.actor(request.user), form.cleaned_data)
        except InterlockError as refusal:
            shown = {"status": HTTPStatus.CONFLICT, "problem": f"Nothing was done: {problems.told(refusal)}."}
            if isinstance(refusal, (Moved, Invalid)):
                shown |= {"again": noun, "form": form}  # what was typed is not typed twice
            if isinstance(refusal, Moved):
                shown["problem"] = f"{shown['problem']} Below stands what it would do now."
            elif isinstance(refusal, Invalid):
                shown["status"] = bad
            return refuse(request, access.get_run(request.user, ref), **shown)
        messages.success(request, done)
        return htmx.see_other(request, reverse("run", args=[follow]))

    return view


def _hold(ref: str, actor: str, data: dict[str, Any]) -> str:
    runs.hold(ref, actor=actor, reason=data["reason"], seen=data["seen"])
    return ref


def _release(ref: str, actor: str, data: dict[str, Any]) -> str:
    runs.release(ref, actor=actor, reason=data["reason"], seen=data["seen"])
    return ref


def _cancel(ref: str, actor: str, data: dict[str, Any]) -> str:
    runs.cancel(ref, actor=actor, reason=data["reason"], undo=data["undo"], seen=data["seen"])
    return ref


def _compensate(ref: str, actor: str, data: dict[str, Any]) -> str:
    runs.compensate(ref, actor=actor, reason=data["reason"], seen=data["seen"])
    return ref


def _retry(ref: str, actor: str, data: dict[str, Any]) -> str:
    steering.retry(ref, actor=actor, reason=data["reason"], seen=data["seen"])
    return ref


def _skip(ref: str, actor: str, data: dict[str, Any]) -> str:
    steering.skip(ref, actor=actor, reason=data["reason"], to=data["to"] or None, seen=data["seen"])
    return ref


def _edit_state(ref: str, actor: str, data: dict[str, Any]) -> str:
    steering.edit_state(ref, data["state"], actor=actor, reason=data["reason"], seen=data["seen"])
    return ref


def _refuse_fork(request: SignedIn, found: Run, **shown: Any) -> HttpResponse:
    return fork_page.refused(request, found, show, **shown)


def _fork(ref: str, actor: str, data: dict[str, Any]) -> str:
    begins = {name: data[name] for name in ("state", "input")}
    made = steering.fork(
        ref, data["version"], actor=actor, reason=data["reason"], seen=data["seen"], **begins
    )
    return made.ref


holds = _command("holds", "Held. Nothing more leaves until somebody releases it.", _hold)
releases = _command("releases", "Released. It goes on as soon as a worker takes it.", _release)
cancellations = _command(
    "cancellations", "It is being cancelled; what is under way is settled first.", _cancel
)
compensations = _command("compensations", "It is being undone, in reverse order.", _compensate)
retries = _command("retries", "Queued. The step is executed again.", _retry)
skips = _command("skips", "Skipped. The run goes on at the next step.", _skip)
state = _command("state", "Stored. The next step sees the new state.", _edit_state)
forks = _command("forks", "Forked. This is the new run.", _fork, _refuse_fork, fork_page.look)
