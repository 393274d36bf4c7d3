"""A run's page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from django.contrib.auth.models import User
from django.http import HttpResponse
from django.urls import reverse

from approvals import access, attempts, htmx
from approvals.acts import offered
from approvals.capabilities import Capability
from approvals.queries import held, pages, timeline
from approvals.queries import run as one_run
from approvals.run_forms import SteerForm
from approvals.views.doors import SignedIn, door
from durable.models import Run
from durable.states import RunState, WaitKind


@door("GET")
def run(request: SignedIn, ref: str) -> HttpResponse:
    """One run. A poll of what has not changed costs one query besides those of the sign-in."""
    polls = htmx.wants_fragment(request) and "seen" in request.GET
    if polls and htmx.unchanged(request, pages.version(*access.glance(request.user, ref))):
        return htmx.not_modified()
    return show(request, access.get_run(request.user, ref))


def show(
    request: SignedIn,
    found: Run,
    *,
    status: int = HTTPStatus.OK,
    problem: str = "",
    again: str = "",
    form: SteerForm | None = None,
) -> HttpResponse:
    """The run's page, after a command that was refused with the reason.

    `again` names the act that was refused: what it would do now is shown at once, with the reason as it was typed, and
    with `form` whatever else was typed.
    """
    if problem:
        attempts.because(request, problem)
    read = one_run.read(found)
    link = _link(request.user, found, read.open_waits)
    typed = {again: form} if form is not None else {}
    acts = offered(request.user, read, lead=link is None or link["kind"] != "main", typed=typed)
    refused = next((act for act in acts if act["id"] == again), None)
    if refused is not None:
        acts.remove(refused)
        refused["said"] = request.POST.get("reason", "")
    context = one_run.detail(read) | {"acts": acts, "again": refused, "link": link}
    context |= {"problem": problem, "section": "runs", "held": held.of(found)}
    if not access.may(request.user, Capability.SEE_LEDGER):
        context |= _without_ledger(read)
    context["part"] = htmx.wants_fragment(request)
    ended = context["run"]["ended"]
    return htmx.page(
        request, "approvals/run_detail.html", context, fragment="live", ended=ended, status=status
    )


def _without_ledger(read: one_run.Read) -> dict[str, Any]:
    """What the page holds for who may see runs and may not read the ledger: nothing of effects, and no log."""
    drawn = timeline.of(read.run, read.points, read.waits, (), read.now)
    return {"effects": [], "effects_words": "", "effects_more": 0, "saga": None, "log": [], "timeline": drawn}


def _link(person: User, found: Run, waits: Sequence[Mapping[str, Any]]) -> dict[str, str] | None:
    """The main way on, where the person may go it: to the evidence of a doubt, to what an undo has left or is at, else
    to the gate.
    """
    reads = access.may(person, Capability.SEE_LEDGER)
    for wait in waits:
        if reads and wait["kind"] == WaitKind.ATTENTION and wait["effect__key"]:
            href = reverse("effect", args=[wait["effect__key"]])
            return {"href": href, "label": "Look at the evidence", "icon": "scale", "kind": "main"}
    if reads and found.state in (RunState.COMPENSATING, RunState.PARTLY_COMPENSATED):
        left = found.state == RunState.PARTLY_COMPENSATED
        label, kind = ("See what stayed done", "main") if left else ("See how far it is", "")
        href = reverse("way-back", args=[found.ref])
        return {"href": href, "label": label, "icon": "arrow-back-up", "kind": kind}
    gates = [wait["gate__id"] for wait in waits if wait["gate__id"] is not None]
    if not gates or not access.may(person, Capability.SEE_GATES):
        return None
    href = reverse("gate", args=[gates[0]])
    stands = found.held or any(wait["kind"] == WaitKind.ATTENTION for wait in waits)
    return {"href": href, "label": "To the gate", "icon": "hand-stop", "kind": "" if stands else "main"}
