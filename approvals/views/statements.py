"""Statements of vendors: what their accounts say, held against the ledger."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qs

from django.contrib import messages
from django.http import HttpResponse
from django.urls import reverse

from approvals import access, htmx, problems
from approvals.capabilities import Capability
from approvals.forms import ExplanationForm, StatementForm
from approvals.queries import pages
from approvals.queries import statements as seen
from approvals.views.doors import SignedIn, door, query_text
from durable.errors import Conflict, InterlockError, Invalid
from durable.vendor_statements import explaining, requests

LIST = "approvals/statement_list.html"
DETAIL = "approvals/statement_detail.html"
#: The last day that another one follows.
_LAST = date.max - timedelta(days=1)


@door("GET", needs=Capability.SEE_LEDGER)
def statements(request: SignedIn) -> HttpResponse:
    """All statements, newest first, and what is to be made."""
    return _listed(request)


@door("POST", needs=Capability.STATEMENTS)
def requested(request: SignedIn) -> HttpResponse:
    """Ask for one; its page then says how far it is."""
    form = StatementForm(request.POST)
    if not form.is_valid():
        return _listed(
            request, f"Nothing was asked: {problems.of_form(form)}.", HTTPStatus.UNPROCESSABLE_ENTITY
        )
    data = form.cleaned_data
    chosen = parse_qs(data["account"], keep_blank_values=True)
    try:
        made = requests.ask(
            _first(chosen, "vendor"),
            _first(chosen, "account"),
            _begins(data["first"]),
            _begins(min(data["last"], _LAST)) + timedelta(days=1),
            actor=access.actor(request.user),
        )
    except Invalid as error:
        why = problems.told(error, to="Up to and with")
        return _listed(request, f"Nothing was asked: {why}.", HTTPStatus.UNPROCESSABLE_ENTITY)
    except Conflict as error:
        return _listed(request, f"Nothing was asked: {problems.told(error)}.", HTTPStatus.CONFLICT)
    return htmx.see_other(request, reverse("statement", args=[made.pk]))


@door("GET")
def statement(request: SignedIn, number: int) -> HttpResponse:
    """One statement: its totals, and each row in which the two sides differ."""
    return _shown(request, number)


@door("POST")
def explanations(request: SignedIn, number: int) -> HttpResponse:
    """Say why differences that were ticked are none to worry about."""
    access.get_statement(request.user, number)
    access.check(request.user, Capability.STATEMENTS)
    form = ExplanationForm(request.POST)
    if not form.is_valid():
        return _shown(request, number, f"Nothing was recorded: {problems.of_form(form)}.")
    data = form.cleaned_data
    try:
        done = explaining.explain(
            number, data["difference"], actor=access.actor(request.user), reason=data["reason"]
        )
    except InterlockError as error:
        status = HTTPStatus.CONFLICT if isinstance(error, Conflict) else HTTPStatus.UNPROCESSABLE_ENTITY
        return _shown(request, number, f"Nothing was recorded: {problems.told(error)}.", status)
    messages.success(
        request, f"{done} difference{'' if done == 1 else 's'} explained. The log has your words."
    )
    return htmx.see_other(request, reverse("statement", args=[number]))


def _listed(request: SignedIn, problem: str = "", status: int = HTTPStatus.OK) -> HttpResponse:
    after, before = (pages.cursor(request.GET.get(name)) for name in ("after", "before"))
    context = seen.listing(after=after, before=before)
    if not htmx.wants_fragment(request):
        context |= seen.around() | {"problem": problem}
        context["may_ask"] = access.may(request.user, Capability.STATEMENTS)
        context["typed"] = request.POST
    return htmx.page(request, LIST, context, fragment="rows", version=context["version"], status=status)


def _shown(
    request: SignedIn, number: int, problem: str = "", status: int = HTTPStatus.UNPROCESSABLE_ENTITY
) -> HttpResponse:
    found = access.get_statement(request.user, number)
    after, before = (pages.cursor(request.GET.get(name)) for name in ("after", "before"))
    context: dict[str, Any] = seen.detail(found, query_text(request, "kind"), after=after, before=before)
    context |= {
        "section": "statements",
        "problem": problem,
        "may_explain": access.may(request.user, Capability.STATEMENTS),
        "said": request.POST.get("reason", ""),
        "ticked": request.POST.getlist("difference"),
    }
    return htmx.page(
        request,
        DETAIL,
        context,
        fragment="live",
        version=context["version"],
        status=status if problem else HTTPStatus.OK,
    )


def _first(chosen: dict[str, list[str]], name: str) -> str:
    return chosen.get(name, [""])[0]


def _begins(day: date) -> datetime:
    """The first moment of a day in UTC, as statements count days."""
    return datetime.combine(day, time(), UTC)
