"""A person's own views of the runs list."""

from __future__ import annotations

from http import HTTPStatus

from django.contrib import messages
from django.http import HttpResponse
from django.urls import reverse

from approvals import htmx, problems, run_views
from approvals.capabilities import Capability
from approvals.forms import RunViewForm
from approvals.queries.runs import address
from approvals.views import run_list
from approvals.views.doors import SignedIn, door
from durable.errors import Conflict, Invalid


@door("POST", needs=Capability.SEE_RUNS)
def saved(request: SignedIn) -> HttpResponse:
    """Keep the list's query under a name."""
    form = RunViewForm(request.POST)
    if not form.is_valid():
        return run_list.refused(request, f"Nothing was saved: {problems.of_form(form)}.")
    try:
        view = run_views.save(request.user, form.cleaned_data["name"], form.cleaned_data["q"])
    except Invalid as error:
        return run_list.refused(request, f"Nothing was saved: {problems.told(error)}.")
    except Conflict as error:
        return run_list.refused(request, f"{error}.", HTTPStatus.CONFLICT)
    return htmx.see_other(request, f"{reverse('runs')}?{address(view.query)}")


@door("POST", needs=Capability.SEE_RUNS)
def deletions(request: SignedIn, pk: int) -> HttpResponse:
    """Forget a view; the list stays where it is."""
    view = run_views.delete(request.user, pk)
    messages.success(request, f"The view {view.name} is gone; no run has changed.")
    return htmx.see_other(request, f"{reverse('runs')}?{address(view.query)}")
