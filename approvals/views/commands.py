"""An operator's commands to a run: each posts a reason, calls one command of the engine, and leads back to the run."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.urls import reverse

from approvals import access, htmx
from approvals.acts import ACTS
from approvals.forms import first_error
from approvals.views.doors import SignedIn, door
from approvals.views.runs import show
from durable import runs, steering
from durable.errors import InterlockError, Invalid

#: Gets the run's id, the actor, and the form's values; returns the id of the run to show next.
Command = Callable[[str, str, dict[str, Any]], str]


def _command(noun: str, done: str, command: Command) -> Callable[..., HttpResponse]:
    """Build the view of one command. `done` is what the page says afterwards."""
    act = next(act for act in ACTS if act.noun == noun)

    @door("POST")
    def view(request: SignedIn, ref: str) -> HttpResponse:
        found = access.get_run(request.user, ref)
        access.check(request.user, act.needs)
        form = act.form(request.POST)
        if not form.is_valid():
            return show(request, found, status=HTTPStatus.UNPROCESSABLE_ENTITY, problem=first_error(form))
        try:
            follow = command(ref, access.actor(request.user), form.cleaned_data)
        except InterlockError as refusal:
            status = HTTPStatus.UNPROCESSABLE_ENTITY if isinstance(refusal, Invalid) else HTTPStatus.CONFLICT
            found = access.get_run(request.user, ref)
            return show(request, found, status=status, problem=f"Nothing was done: {refusal}.")
        messages.success(request, done)
        return htmx.see_other(request, reverse("run", args=[follow]))

    return view


def _hold(ref: str, actor: str, data: dict[str, Any]) -> str:
    runs.hold(ref, actor=actor, reason=data["reason"])
    return ref


def _release(ref: str, actor: str, data: dict[str, Any]) -> str:
    runs.release(ref, actor=actor, reason=data["reason"])
    return ref


def _cancel(ref: str, actor: str, data: dict[str, Any]) -> str:
    runs.cancel(ref, actor=actor, reason=data["reason"], undo=data["undo"])
    return ref


def _compensate(ref: str, actor: str, data: dict[str, Any]) -> str:
    runs.compensate(ref, actor=actor, reason=data["reason"])
    return ref


def _retry(ref: str, actor: str, data: dict[str, Any]) -> str:
    steering.retry(ref, actor=actor, reason=data["reason"])
    return ref


def _skip(ref: str, actor: str, data: dict[str, Any]) -> str:
    steering.skip(ref, actor=actor, reason=data["reason"], to=data["to"] or None)
    return ref


def _edit_state(ref: str, actor: str, data: dict[str, Any]) -> str:
    steering.edit_state(ref, data["state"], actor=actor, reason=data["reason"])
    return ref


def _fork(ref: str, actor: str, data: dict[str, Any]) -> str:
    return steering.fork(ref, data["version"], actor=actor, reason=data["reason"]).ref


holds = _command("holds", "Held. Nothing more leaves until somebody releases it.", _hold)
releases = _command("releases", "Released. It goes on as soon as a worker takes it.", _release)
cancellations = _command(
    "cancellations", "It is being cancelled; what is under way is settled first.", _cancel
)
compensations = _command("compensations", "It is being undone, in reverse order.", _compensate)
retries = _command("retries", "Queued. The step is executed again.", _retry)
skips = _command("skips", "Skipped. The run goes on at the next step.", _skip)
state = _command("state", "Stored. The next step sees the new state.", _edit_state)
forks = _command("forks", "Forked. This is the new run.", _fork)
