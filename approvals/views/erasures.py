"""Erasing a person's data: find them, see what would go and what stays, say why, and watch it being done.

A name never stands in an address: it would be in logs and in browsers' histories after everything else is gone.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse

from approvals import access, htmx, problems
from approvals import erasures as erasing
from approvals.capabilities import Capability
from approvals.erasure_forms import EraseForm, LookForm
from approvals.queries import erasures as seen
from approvals.queries import pages
from approvals.views.doors import SignedIn, door
from durable import erasure_orders
from durable.clock import db_now
from durable.errors import Conflict, Invalid, Moved, NotFound
from durable.models import Erasure
from durable.states import EraseReason

LIST, LOOK, ONE = (f"approvals/erasure_{name}.html" for name in ("list", "look", "detail"))
_BAD = HTTPStatus.UNPROCESSABLE_ENTITY


@door("GET", needs=Capability.ERASE)
def erasures(request: SignedIn) -> HttpResponse:
    """Whom to look for, and what was erased before."""
    return _list(request)


@door("POST", needs=Capability.ERASE)
def looks(request: SignedIn) -> HttpResponse:
    """What an erasure would do; nothing is done."""
    form = LookForm(request.POST)
    if not form.is_valid():
        return _list(request, status=_BAD, problem=f"Nothing was looked for: {problems.of_form(form)}.")
    try:
        found = erasing.look(form.cleaned_data["names"], thoroughly=form.cleaned_data["thoroughly"])
    except Invalid as error:
        return _list(request, status=_BAD, problem=f"Nothing was looked for: {problems.told(error)}.")
    return _look(request, found)


@door("POST", needs=Capability.ERASE)
def requests(request: SignedIn) -> HttpResponse:
    """Erase what was shown, and nothing else."""
    form = EraseForm(request.POST)
    if not form.is_valid():
        names, problem = form.cleaned_data.get("names"), f"Nothing was erased: {problems.of_form(form)}."
        if not names:
            return _list(request, status=_BAD, problem=problem)
        return _look(request, _found(form), status=_BAD, problem=problem)
    data = form.cleaned_data
    try:
        made = erasing.ask(
            data["names"],
            actor=access.actor(request.user),
            seen=data["seen"],
            reason=data["reason"],
            reference=data["reference"],
            others=data["others"],
            thoroughly=data["thoroughly"],
        )
    except Conflict as error:
        return _look(
            request, _found(form), status=HTTPStatus.CONFLICT, problem=f"Nothing was erased: {error}."
        )
    except Moved as error:
        problem = f"Nothing was erased: {error}. Below stands how it is now."
        return _look(request, _found(form), status=HTTPStatus.CONFLICT, problem=problem)
    except Invalid as error:
        return _look(
            request, _found(form), status=_BAD, problem=f"Nothing was erased: {problems.told(error)}."
        )
    messages.success(
        request,
        "It is asked for. It goes once another person asks for the same."
        if made.proposed
        else "It is being erased. Nobody can take this back.",
    )
    return htmx.see_other(request, reverse("erasure", args=[made.pk]))


@door("POST", needs=Capability.ERASE)
def withdrawals(request: SignedIn, erasure: int) -> HttpResponse:
    """Take back what waits for a second person."""
    try:
        erasure_orders.withdraw(erasure, actor=access.actor(request.user))
    except Conflict as error:
        return _one(request, erasure, problem=f"Nothing was changed: {error}.", status=HTTPStatus.CONFLICT)
    messages.success(request, "It is withdrawn. Nothing of it was erased.")
    return htmx.see_other(request, reverse("erasure", args=[erasure]))


@door("GET", needs=Capability.ERASE)
def erasure(request: SignedIn, erasure: int) -> HttpResponse:
    """One erasure: how far it is, and what waits."""
    return _one(request, erasure)


def _one(request: SignedIn, erasure: int, *, problem: str = "", status: int = HTTPStatus.OK) -> HttpResponse:
    found = Erasure.objects.filter(pk=erasure).first()
    if found is None:
        raise NotFound("no such erasure")
    context = seen.detail(found, access.actor(request.user))
    if not problem and htmx.unchanged(request, context["version"]):
        return htmx.not_modified()
    context |= {"now": db_now(), "section": "erasures", "problem": problem}
    over = found.done_at is not None or found.withdrawn_at is not None
    return htmx.page(request, ONE, context, fragment="live", ended=over, status=status)


def _found(form: EraseForm) -> erasing.Look:
    return erasing.look(form.cleaned_data["names"], thoroughly=form.cleaned_data.get("thoroughly", False))


def _list(request: SignedIn, *, status: int = HTTPStatus.OK, problem: str = "") -> HttpResponse:
    after, before = (pages.cursor(request.GET.get(name)) for name in ("after", "before"))
    context = seen.listing(after=after, before=before) | {
        "problem": problem,
        "names": request.POST.get("names", ""),
        "here": reverse("erasures"),
        "now": db_now(),
    }
    return htmx.page(request, LIST, context, fragment="rows", version=context["version"], status=status)


def _look(
    request: SignedIn, found: erasing.Look, *, status: int = HTTPStatus.OK, problem: str = ""
) -> HttpResponse:
    typed: dict[str, Any] = {name: request.POST.get(name, "") for name in ("reason", "reference", "others")}
    context = seen.shown(found, access.actor(request.user)) | {
        "problem": problem,
        "names": request.POST.get("names", ""),
        "thoroughly": bool(request.POST.get("thoroughly")),
        "reasons": list(EraseReason),
        "typed": typed,
        "now": db_now(),
    }
    return render(request, LOOK, context, status=status)
