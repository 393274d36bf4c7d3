"""The reader's time zone."""

from __future__ import annotations

from http import HTTPStatus

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone

from approvals import access, htmx, problems, zones
from approvals.views.doors import SignedIn, door
from durable.clock import db_now
from durable.errors import Invalid
from durable.text import mend


@door("GET")
def time_zone(request: SignedIn) -> HttpResponse:
    """In which zone moments are shown and days are meant."""
    _check(request)
    return _show(request)


@door("POST")
def choices(request: SignedIn) -> HttpResponse:
    """Choose another."""
    _check(request)
    try:
        if "zone" not in request.POST:
            raise Invalid("zone", "must be given")
        zones.choose(request, request.user, mend(request.POST["zone"]).strip())
    except Invalid as error:
        return _show(
            request, f"Nothing was changed: {problems.told(error)}.", HTTPStatus.UNPROCESSABLE_ENTITY
        )
    with zones.reading(request):
        messages.success(request, f"Days and times are now those of {timezone.get_current_timezone_name()}.")
    return htmx.see_other(request, reverse("time-zone"))


def _check(request: SignedIn) -> None:
    if not access.capabilities(request.user):
        raise PermissionDenied("You have no role here yet. An administrator gives you one.")


def _show(request: SignedIn, problem: str = "", status: int = HTTPStatus.OK) -> HttpResponse:
    now = db_now()
    context = {
        "zone": zones.own(request),
        "house": timezone.get_default_timezone_name(),
        "known": zones.known(),
        "name": timezone.get_current_timezone_name(),
        "offset": zones.offset(now),
        "problem": problem,
        "now": now,
    }
    return render(request, "approvals/time_zone.html", context, status=status)
