"""Retention: how long what is kept, what goes by it, and a change of it, bound to what it was shown to delete."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse

from approvals import access, htmx, problems, retention_forms
from approvals.capabilities import Capability
from approvals.queries import retained
from approvals.retention_forms import SaveForm, TermsForm
from approvals.views.doors import SignedIn, door
from durable.clock import db_now
from durable.errors import InterlockError, Invalid
from durable.retention import survey, terms
from durable.retention.terms import KINDS

TEMPLATE, CHANGE = "approvals/retention.html", "approvals/retention_change.html"


@door("GET", needs=Capability.SEE_LOG)
def retention(request: SignedIn) -> HttpResponse:
    """The policy and what has gone by it. What is due is counted apart (`?look=due`): it takes a moment."""
    due = request.GET.get("look") == "due"
    if due and htmx.wants_fragment(request):
        return htmx.page(request, TEMPLATE, retained.due(), fragment="due")
    version = retained.version()
    if htmx.unchanged(request, version):
        return htmx.not_modified()
    context = retained.overview(with_due=due) | {"now": db_now(), "section": "retention", "version": version}
    context["may_set"] = access.may(request.user, Capability.SET_RETENTION)
    context["part"] = htmx.wants_fragment(request)
    return htmx.page(request, TEMPLATE, context, fragment="passes")


@door("GET", needs=Capability.SET_RETENTION)
def change(request: SignedIn) -> HttpResponse:
    """Other times: what they would delete, before anybody saves them."""
    asks = any(name in request.GET for name in KINDS)
    present = terms.terms(terms.policy())
    form = TermsForm(request.GET if asks else None, initial={name: present.of(name) for name in KINDS})
    if not asks or not form.is_valid():
        return _show(request, form, problem=f"{problems.of_form(form)}." if asks else "")
    return _shown(request, form)


@door("POST", needs=Capability.SET_RETENTION)
def policies(request: SignedIn) -> HttpResponse:
    """Put into force what was shown."""
    form = SaveForm(request.POST)
    if not form.is_valid():
        problem = f"Nothing was saved: {problems.of_form(form)}."
        return _show(request, form, problem=problem, status=HTTPStatus.UNPROCESSABLE_ENTITY)
    wanted = form.terms
    try:
        seen, rows = retention_forms.opened(form.cleaned_data["shown"], wanted)
        found = survey.look(wanted)
        if retention_forms.grown(rows, found):
            told = "Nothing was saved: more would go by now than you were shown. Below stands what."
            return _shown(request, form, problem=told, status=HTTPStatus.CONFLICT)
        terms.change(
            wanted,
            actor=access.actor(request.user),
            reason=form.cleaned_data["reason"],
            seen=seen,
            shown=rows,
        )
    except Invalid as error:
        told = f"Nothing was saved: {problems.told(error)}."
        return _shown(request, form, problem=told, status=HTTPStatus.UNPROCESSABLE_ENTITY)
    except InterlockError as error:
        return _shown(
            request, form, problem=f"Nothing was saved: {problems.told(error)}.", status=HTTPStatus.CONFLICT
        )
    messages.success(request, "Saved. The next pass goes by it.")
    return htmx.see_other(request, reverse("retention"))


def _shown(request: SignedIn, form: TermsForm, **more: Any) -> HttpResponse:
    """The form with what its terms would delete, and the way to save them."""
    wanted, policy = form.terms, terms.policy()
    found = survey.look(wanted)
    context: dict[str, Any] = {
        "survey": retained.shown(found),
        "changes": retained.changes(terms.terms(policy), wanted),
        "values": {name: "" if wanted.of(name) is None else wanted.of(name) for name in KINDS},
        "sealed": retention_forms.sealed(wanted, policy.pk, found),
        "said": request.POST.get("reason", ""),
    }
    return _show(request, form, **more, **context)


def _show(
    request: SignedIn, form: TermsForm, *, status: int = HTTPStatus.OK, problem: str = "", **more: Any
) -> HttpResponse:
    fields = [form[name] for name in KINDS]
    context = {
        "form": form,
        "fields": fields,
        "problem": problem,
        "section": "retention",
        "now": db_now(),
        **more,
    }
    return render(request, CHANGE, context, status=status)
