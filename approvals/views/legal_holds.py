"""Legal holds: which there are and were, and that one is set or lifted."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.urls import reverse
from django.utils import timezone

from approvals import access, hold_forms, htmx, problems
from approvals.capabilities import Capability
from approvals.forms import ReasonForm
from approvals.hold_forms import HoldForm
from approvals.queries import held, pages
from approvals.views.doors import SignedIn, door, query_text
from durable import holds
from durable.clock import db_now
from durable.errors import InterlockError, Invalid
from durable.models import LegalHold

TEMPLATE = "approvals/hold_list.html"


@door("GET", needs=Capability.SEE_LOG)
def legal_holds(request: SignedIn) -> HttpResponse:
    """What is held, by whose order, and why; an address may name what the form begins with."""
    given = {name: query_text(request, name) for name in ("run", "subject", "q") if name in request.GET}
    return _show(request, HoldForm(initial=hold_forms.asked(given)), asked=bool(given))


@door("POST", needs=Capability.HOLD_LEGALLY)
def orders(request: SignedIn) -> HttpResponse:
    """Set a hold."""
    form = HoldForm(request.POST)
    if not form.is_valid():
        return _refused(request, form, f"Nothing was done: {problems.of_form(form)}.")
    try:
        made = hold_forms.put(form, request.user)
    except Invalid as error:
        return _refused(request, form, f"Nothing was done: {problems.told(error)}.")
    except InterlockError as error:
        return _refused(request, form, f"Nothing was done: {problems.told(error)}.", HTTPStatus.CONFLICT)
    messages.success(request, hold_forms.said(made))
    return htmx.see_other(request, reverse("legal-holds"))


@door("POST", needs=Capability.HOLD_LEGALLY)
def liftings(request: SignedIn, hold_id: int) -> HttpResponse:
    """Lift a hold."""
    if not LegalHold.objects.filter(pk=hold_id).exists():
        return _refused(
            request, HoldForm(), "Nothing was done: there is no such legal hold.", HTTPStatus.CONFLICT
        )
    form = ReasonForm(request.POST)
    if not form.is_valid():
        return _not_lifted(request, hold_id, problems.of_form(form))
    try:
        holds.lift(hold_id, actor=access.actor(request.user), reason=form.cleaned_data["reason"])
    except Invalid as error:
        return _not_lifted(request, hold_id, problems.told(error))
    except InterlockError as error:
        return _not_lifted(request, hold_id, problems.told(error), HTTPStatus.CONFLICT)
    messages.success(request, f"Legal hold {hold_id} is lifted. What the policy no longer keeps goes again.")
    return htmx.see_other(request, reverse("legal-holds"))


def _refused(
    request: SignedIn, form: HoldForm, problem: str, status: int = HTTPStatus.UNPROCESSABLE_ENTITY
) -> HttpResponse:
    return _show(request, form, problem=problem, status=status, asked=form.is_bound)


def _not_lifted(
    request: SignedIn, hold_id: int, why: str, status: int = HTTPStatus.UNPROCESSABLE_ENTITY
) -> HttpResponse:
    """The list, in which the reason that was typed stands at its hold."""
    lifting = {"id": hold_id, "said": request.POST.get("reason", "")}
    return _show(request, HoldForm(), problem=f"Nothing was done: {why}.", status=status, lifting=lifting)


def _show(
    request: SignedIn,
    form: HoldForm,
    *,
    asked: bool = False,
    problem: str = "",
    status: int = HTTPStatus.OK,
    lifting: dict[str, Any] | None = None,
) -> HttpResponse:
    after, before = (pages.cursor(request.GET.get(name)) for name in ("after", "before"))
    context: dict[str, Any] = held.listing(after=after, before=before)
    if lifting is not None and all(hold["id"] != lifting["id"] for hold in context["holds"]):
        context = held.listing(after=lifting["id"] + 1, before=None)  # it is on an older page
    context |= {
        "lifting": lifting,
        "form": form,
        "asked": asked,
        "problem": problem,
        "section": "retention",
        "may_hold": access.may(request.user, Capability.HOLD_LEGALLY),
        "now": db_now(),
        "zone": timezone.get_current_timezone_name(),
    }
    return htmx.page(request, TEMPLATE, context, fragment="rows", version=context["version"], status=status)
