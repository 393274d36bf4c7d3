"""One run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from django.http import HttpResponse
from django.urls import reverse

from approvals import access, htmx
from approvals.acts import offered
from approvals.queries import run as one_run
from approvals.views.doors import SignedIn, door
from durable.models import Run
from durable.states import WaitKind


@door("GET")
def run(request: SignedIn, ref: str) -> HttpResponse:
    """One run."""
    found = access.get_run(request.user, ref)
    seen = one_run.version(found)
    if htmx.unchanged(request, seen):
        return htmx.not_modified()
    return show(request, found, seen=seen)


def show(
    request: SignedIn, found: Run, *, status: int = HTTPStatus.OK, problem: str = "", seen: str = ""
) -> HttpResponse:
    """The run's page, after a command that was refused with the reason."""
    context = one_run.detail(found, seen)
    acts = offered(request.user, found, context["waits"], context["effect_rows"], context["checkpoints"])
    context |= {"acts": acts, "link": _link(found, context["waits"]), "acts_note": ""}
    context |= {"problem": problem, "section": "runs"}
    ended = context["run"]["ended"]
    return htmx.page(
        request, "approvals/run_detail.html", context, fragment="live", ended=ended, status=status
    )


def _link(found: Run, waits: Sequence[Mapping[str, Any]]) -> dict[str, str] | None:
    """The main way on: to the evidence of a doubt, else to the gate."""
    for wait in waits:
        if wait["kind"] == WaitKind.ATTENTION and wait["effect__key"]:
            href = reverse("effect", args=[wait["effect__key"]])
            return {"href": href, "label": "Look at the evidence", "icon": "scale", "kind": "main"}
    gates = [wait["gate__id"] for wait in waits if wait["gate__id"] is not None]
    if not gates:
        return None
    href = reverse("gate", args=[gates[0]])
    return {"href": href, "label": "To the gate", "icon": "hand-stop", "kind": "" if found.held else "main"}
