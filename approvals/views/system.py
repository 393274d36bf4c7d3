"""The installation itself: a page for people, and its figures for Prometheus."""

from __future__ import annotations

import logging
import time
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.utils import timezone
from django.utils.crypto import constant_time_compare

from approvals import access, attempts, htmx, metrics, polls
from approvals.capabilities import Capability
from approvals.queries import readings
from approvals.queries import system as parts
from approvals.views.doors import SignedIn, door

log = logging.getLogger(__name__)

#: The broker tells nobody what changes in it, and ages grow by themselves: so long, what was read is shown.
_HOLDS = timedelta(seconds=10)
#: What was read last, by the zone in which its moments stand: the name of what was seen (`polls.standing`), and when.
_read: dict[str, tuple[str, float, dict[str, Any]]] = {}


@door("GET", needs=Capability.SEE_SYSTEM)
def system(request: SignedIn) -> HttpResponse:
    """How the installation does. Workers are asked apart (`?ask=workers`): waiting for them takes half a second."""
    if request.GET.get("ask") == "workers":
        answered = _answering()
        if htmx.wants_fragment(request):
            return htmx.page(request, "approvals/system.html", answered, fragment="answering")
        return htmx.page(request, "approvals/system.html", parts.overview() | answered, fragment="live")
    context = _lately() if polls.is_poll(request) else parts.overview()
    if htmx.unchanged(request, str(context["version"])):
        return htmx.not_modified(_HOLDS)
    return htmx.page(request, "approvals/system.html", context, fragment="live")


def _lately() -> dict[str, Any]:
    """What pages that stand open are shown: while nothing in the database changes, one reading serves all of them."""
    state, zone = polls.standing(), timezone.get_current_timezone_name()
    before, until, context = _read.get(zone, ("", 0.0, {}))
    if not state or before != state or time.monotonic() >= until:
        until = time.monotonic() + _HOLDS.total_seconds()
        context = parts.overview()
        _read[zone] = (state, until, context)
    return context


def _answering() -> dict[str, object]:
    """The workers that answer now; None where they could not be asked."""
    try:
        return {"asked": True, "answering": readings.answering(), "start": parts.START_WORKER}
    except Exception as error:  # the broker's client raises what it likes, and the page says what is broken
        log.warning("workers can't be asked: %s: %s", type(error).__name__, error)
        return {"asked": True, "answering": None}


def prometheus(request: HttpRequest) -> HttpResponse:
    """The figures, for whoever brings the token or may see the system. 401 for nobody, 403 for others."""
    if request.method not in ("GET", "HEAD"):
        return HttpResponseNotAllowed(("GET", "HEAD"))
    if not _bears_token(request):
        user = request.user
        if not isinstance(user, User):
            answer = HttpResponse(
                "Send the token: Authorization: Bearer …\n", status=401, content_type="text/plain"
            )
            answer["WWW-Authenticate"] = 'Bearer realm="metrics"'
            return answer
        if not access.may(user, Capability.SEE_SYSTEM):
            words = "Your role does not include the right to see the system.\n"
            attempts.refused(request, words.strip(), Capability.SEE_SYSTEM.value)
            return HttpResponse(words, status=403, content_type="text/plain")
    answer = HttpResponse(metrics.text(), content_type=metrics.CONTENT_TYPE)
    answer["Cache-Control"] = "no-store"
    return answer


def _bears_token(request: HttpRequest) -> bool:
    """Whether the request carries the token of the settings; without one there, nothing does."""
    scheme, _, sent = request.headers.get("Authorization", "").partition(" ")
    wanted: str = settings.METRICS_TOKEN
    return bool(wanted) and scheme.lower() == "bearer" and constant_time_compare(sent.strip(), wanted)
