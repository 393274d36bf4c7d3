"""Acts on many runs: drafted from the list, shown, started, watched and stopped."""

from __future__ import annotations

from http import HTTPStatus

from django.contrib import messages
from django.http import HttpResponse
from django.urls import reverse

from approvals import access, attempts, bulk, htmx, problems
from approvals.capabilities import Capability
from approvals.errors import Refused
from approvals.forms import BulkDraftForm, ReasonForm
from approvals.queries import bulk as seen
from approvals.queries import pages
from approvals.run_query import parse
from approvals.states import BulkState, Outcome
from approvals.views import run_list
from approvals.views.doors import SignedIn, door, query_text
from durable.errors import Conflict, Invalid, NotFound

TEMPLATE = "approvals/bulk_detail.html"


@door("GET", needs=Capability.SEE_RUNS)
def bulk_acts(request: SignedIn) -> HttpResponse:
    """What has been done to many runs at once, and what is under way."""
    after, before = (pages.cursor(request.GET.get(name)) for name in ("after", "before"))
    context = seen.listing(request.user, after=after, before=before)
    context["section"] = "runs"
    return htmx.page(
        request, "approvals/bulk_list.html", context, fragment="rows", version=context["version"]
    )


@door("POST", needs=Capability.STEER_RUNS)
def drafts(request: SignedIn) -> HttpResponse:
    """Fix which runs an act is about; its page then shows what it would do."""
    form = BulkDraftForm(request.POST)
    if not form.is_valid():
        return run_list.refused(request, f"Nothing was done: {problems.of_form(form)}.")
    data = form.cleaned_data
    try:
        if data["again"]:
            made = bulk.again(request.user, data["again"])
        else:
            query = parse(data["q"]) if data["all"] else None
            made = bulk.draft(request.user, data["act"], query=query, refs=data["run"])
    except Invalid as error:
        return run_list.refused(request, f"Nothing was done: {problems.told(error)}.")
    return htmx.see_other(request, reverse("bulk-act", args=[made.pk]))


@door("GET")
def bulk_act(request: SignedIn, pk: int) -> HttpResponse:
    """One act on many: what it will do, how far it is, and what became of each run."""
    return _show(request, pk)


@door("POST")
def starts(request: SignedIn, pk: int) -> HttpResponse:
    """Start what the page has shown."""
    access.check(request.user, Capability.STEER_RUNS)
    try:
        bulk.get(request.user, pk)
    except NotFound:
        return run_list.refused(request, f"Nothing was done: {bulk.GONE}.", HTTPStatus.CONFLICT)
    form = ReasonForm(request.POST)
    if not form.is_valid():
        return _show(
            request,
            pk,
            status=HTTPStatus.UNPROCESSABLE_ENTITY,
            problem=f"Nothing was done: {problems.of_form(form)}.",
        )
    try:
        bulk.start(request.user, pk, form.cleaned_data["reason"])
    except Refused as refusal:
        raise access.Missing(Capability.STEER_RUNS, str(refusal)) from None
    except Invalid as error:
        return _show(
            request,
            pk,
            status=HTTPStatus.UNPROCESSABLE_ENTITY,
            problem=f"Nothing was done: {problems.told(error)}.",
        )
    except Conflict as error:
        try:
            return _show(request, pk, status=HTTPStatus.CONFLICT, problem=f"{problems.told(error)}.")
        except NotFound:  # its draft was dropped, so there is no page of it
            return run_list.refused(
                request, f"Nothing was done: {problems.told(error)}.", status=HTTPStatus.CONFLICT
            )
    return htmx.see_other(request, reverse("bulk-act", args=[pk]))


@door("POST")
def stops(request: SignedIn, pk: int) -> HttpResponse:
    """Let no further run be acted on."""
    _may_steer(request, pk)
    try:
        bulk.stop(request.user, pk)
    except Refused as refusal:
        raise access.Missing(Capability.STEER_RUNS, str(refusal)) from None
    except Conflict as error:
        return _show(request, pk, status=HTTPStatus.CONFLICT, problem=f"{problems.told(error)}.")
    messages.success(request, "Stopped. What was done before stays done; the rest was not tried.")
    return htmx.see_other(request, reverse("bulk-act", args=[pk]))


def _may_steer(request: SignedIn, pk: int) -> None:
    bulk.get(request.user, pk)
    access.check(request.user, Capability.STEER_RUNS)


def _show(request: SignedIn, pk: int, *, status: int = HTTPStatus.OK, problem: str = "") -> HttpResponse:
    if problem:
        attempts.because(request, problem)
    found = bulk.get(request.user, pk)
    counted = seen.numbers(found)
    if htmx.unchanged(request, seen.version(found, counted)):
        return htmx.not_modified()
    only = query_text(request, "outcome")
    after, before = (pages.cursor(request.GET.get(name)) for name in ("after", "before"))
    only = only if only in {one.value for one in Outcome} else ""
    context = seen.detail(found, counted, only, after=after, before=before)
    context |= {
        "problem": problem,
        "section": "runs",
        "drafted": found.state == BulkState.DRAFTED,
        "may_act": access.may(request.user, Capability.STEER_RUNS),
    }
    return htmx.page(request, TEMPLATE, context, fragment="live", ended=context["ended"], status=status)
