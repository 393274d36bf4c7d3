"""The further pages of a run: its conversation, its log, its checkpoints, and what differs between two."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from approvals import access, acts
from approvals.queries import checkpoints as points
from approvals.queries import conversation as messages
from approvals.queries import events, pages
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
    found = access.get_ledger_of_run(request.user, ref)
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
