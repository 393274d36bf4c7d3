"""The further pages of a run: its conversation, its log, its checkpoints, what differs between two, and a fork."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from approvals import access, acts, radius
from approvals.capabilities import Capability
from approvals.queries import checkpoints as points
from approvals.queries import conversation as messages
from approvals.queries import events, pages
from approvals.queries import run as one_run
from approvals.run_forms import ForkForm, SteerForm
from approvals.views.doors import SignedIn, door
from durable.clock import db_now
from durable.models import Run


def _show(request: SignedIn, name: str, found: Run, here: str, context: dict[str, Any]) -> HttpResponse:
    shown = {"run": points.about(found), "here": here, "section": "runs", "now": db_now()}
    shown["message_count"] = found.message_count
    return render(request, f"approvals/{name}.html", shown | context)


def _cursors(request: HttpRequest) -> dict[str, int | None]:
    return {name: pages.cursor(request.GET.get(name)) for name in ("after", "before")}


@door("GET")
def conversation(request: SignedIn, ref: str) -> HttpResponse:
    """What was said, in pages; one message in full with `?no=`."""
    found = access.get_run(request.user, ref)
    no = pages.cursor(request.GET.get("no"))
    shown = messages.page(found, **_cursors(request)) if no is None else messages.whole(found, no)
    return _show(request, "run_conversation", found, "conversation", shown | {"no": no})


@door("GET")
def log(request: SignedIn, ref: str) -> HttpResponse:
    """Everything that the ledger holds about the run, in pages."""
    found = access.get_run(request.user, ref)
    return _show(request, "run_log", found, "log", events.page(found, **_cursors(request)))


@door("GET")
def checkpoints(request: SignedIn, ref: str) -> HttpResponse:
    """All checkpoints that are kept, to compare any two, or to fork from any."""
    found = access.get_run(request.user, ref)
    return _show(request, "run_checkpoints", found, "checkpoints", points.page(found, **_cursors(request)) | {
        "forkable": acts.forkable(request.user, found),
        "newest": found.version,
    })  # fmt: skip


@door("GET")
def differences(request: SignedIn, ref: str) -> HttpResponse:
    """What differs between the checkpoints `?from=` and `?to=`; by default the newest and the one before."""
    found = access.get_run(request.user, ref)
    second = pages.cursor(request.GET.get("to")) or found.version
    first = pages.cursor(request.GET.get("from")) or max(second - 1, 1)
    if first > second:
        first, second = second, first
    return _show(
        request, "run_differences", found, "checkpoints", {"between": points.between(found, first, second)}
    )


@door("GET")
def fork(request: SignedIn, ref: str) -> HttpResponse:
    """A fork from the checkpoint `?version=`, before it is made."""
    found = access.get_run(request.user, ref)
    return fork_page(request, found, pages.cursor(request.GET.get("version")) or found.version)


def fork_page(
    request: SignedIn,
    found: Run,
    version: int,
    *,
    status: int = HTTPStatus.OK,
    problem: str = "",
    typed: SteerForm | None = None,
) -> HttpResponse:
    """A fork from one checkpoint: what it will do, and the state that it begins with, to be changed."""
    access.check(request.user, Capability.STEER_RUNS)
    read = one_run.read(found, log=False)
    point, state = points.one(found, version)
    form = typed or ForkForm(auto_id="fork-%s", initial={"state": state})
    fields = [form["state"]] if access.may(request.user, Capability.EDIT_STATE) else []
    tokens = (read.points[0]["budget"] or {}).get("tokens", 0) - point["tokens"] if read.points else 0
    context = {
        "run": points.about(found), "here": "checkpoints", "section": "runs", "now": read.now,
        "message_count": found.message_count, "point": point, "problem": problem, "fits": acts.fits("forks", read),
        "act": {
            "url": reverse("forks", args=[found.ref]), "title": f"Fork {found.ref} from checkpoint {version}",
            "preview": [f"It begins at step {point['next']}.", *radius.of("forks", acts.scene(read)),
                        *([f"Since this checkpoint {tokens:,} tokens were used."] if tokens > 0 else [])],
            "hidden": {"seen": read.stands.whole, "version": version, "alone": "yes"}, "fields": fields, "id": "forks",
            "reason": "required", "verb": "Fork", "label": "Fork", "said": request.POST.get("reason", ""),
        },
    }  # fmt: skip
    return render(request, "approvals/run_fork.html", context, status=status)
