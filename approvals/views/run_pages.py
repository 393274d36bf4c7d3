"""The further pages of a run: its conversation, its log, its checkpoints, and what differs between two."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from approvals import access, acts, htmx
from approvals.queries import checkpoints as points
from approvals.queries import conversation as messages
from approvals.queries import events, pages
from approvals.views.doors import SignedIn, door
from durable.clock import db_now
from durable.models import Run
from durable.states import FINAL, RunState


def _around(found: Run, here: str) -> dict[str, Any]:
    """What stands around each of these pages."""
    shown = {"run": points.about(found), "here": here, "section": "runs", "now": db_now()}
    return shown | {"message_count": found.message_count}


def _version(request: SignedIn, ref: str) -> str:
    """Changes whenever anything becomes of the run; asked for before all else, in one query. Raises as `get_run`."""
    return pages.version(*access.glance(request.user, ref))


def _live(request: SignedIn, name: str, found: Run, version: str, context: dict[str, Any]) -> HttpResponse:
    """A page that asks again by itself, as long as anything can still become of the run."""
    over = RunState(found.state) in FINAL
    context |= {"live": not over, "version": version}
    return htmx.page(request, f"approvals/{name}.html", context, fragment="live", ended=over)


def _cursors(request: HttpRequest) -> dict[str, int | None]:
    return {name: pages.cursor(request.GET.get(name)) for name in ("after", "before")}


@door("GET")
def conversation(request: SignedIn, ref: str) -> HttpResponse:
    """What was said, in pages; one message in full with `?no=`. A page that stands open is told how many came since."""
    version = _version(request, ref)
    if htmx.unchanged(request, version):
        return htmx.not_modified()
    found = access.get_run(request.user, ref)
    context = _around(found, "conversation")
    if htmx.wants_fragment(request):
        base = pages.cursor(request.GET.get("from"))
        news = 0 if base is None else max(found.message_count - base, 0)
        context |= {"base": "" if base is None else base, "news": news, "one": news == 1}
        return _live(request, "run_conversation", found, version, context)
    no = pages.cursor(request.GET.get("no"))
    shown = messages.page(found, **_cursors(request)) if no is None else messages.whole(found, no)
    newest = no is None and not shown["page"]["newer"]
    context |= {**shown, "no": no, "base": found.message_count if newest else ""}
    return _live(request, "run_conversation", found, version, context)


@door("GET")
def log(request: SignedIn, ref: str) -> HttpResponse:
    """Everything that the ledger holds about the run, in pages."""
    version = _version(request, ref)
    if htmx.unchanged(request, version):
        return htmx.not_modified()
    found = access.get_ledger_of_run(request.user, ref)
    context = _around(found, "log") | events.page(found, **_cursors(request))
    return _live(request, "run_log", found, version, context)


@door("GET")
def checkpoints(request: SignedIn, ref: str) -> HttpResponse:
    """All checkpoints that are kept, to compare any two, or to fork from any."""
    version = _version(request, ref)
    if htmx.unchanged(request, version):
        return htmx.not_modified()
    found = access.get_run(request.user, ref)
    context = _around(found, "checkpoints") | points.page(found, **_cursors(request))
    context |= {"forkable": acts.forkable(request.user, found), "newest": found.version}
    return _live(request, "run_checkpoints", found, version, context)


@door("GET")
def differences(request: SignedIn, ref: str) -> HttpResponse:
    """What differs between the checkpoints `?from=` and `?to=`; by default the newest and the one before."""
    found = access.get_run(request.user, ref)
    second = pages.cursor(request.GET.get("to")) or found.version
    first = pages.cursor(request.GET.get("from")) or max(second - 1, 1)
    if first > second:
        first, second = second, first
    context = _around(found, "checkpoints") | {"between": points.between(found, first, second)}
    return render(request, "approvals/run_differences.html", context)
