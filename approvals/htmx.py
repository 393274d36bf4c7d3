"""Page or fragment: one view, one template, one context, two renderings.

A page's template holds its fragments as partials; a request by htmx gets the fragment alone, every other the page.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from http import HTTPStatus
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils.cache import patch_vary_headers
from django_htmx.http import HttpResponseClientRedirect, HttpResponseStopPolling
from django_htmx.middleware import HtmxDetails


class HtmxHttpRequest(HttpRequest):
    """A request that has passed `HtmxMiddleware`."""

    htmx: HtmxDetails


class SeeOther(HttpResponseRedirect):
    """303: the browser asks for the next page with GET, so that reloading it repeats nothing."""

    status_code = HTTPStatus.SEE_OTHER


def page(
    request: HtmxHttpRequest,
    template: str,
    context: Mapping[str, Any],
    *,
    fragment: str,
    version: str = "",
    ended: bool = False,
    status: int = HTTPStatus.OK,
) -> HttpResponse:
    """The page, or for htmx its fragment. Send `context["…version"]` as `version` to spare what is unchanged.

    Answers a poll that already shows `version` (`?seen=`) with 204, which swaps nothing. `ended` stops the poll with
    286 after this last fragment: nothing of what it shows will change any more.
    """
    if not wants_fragment(request):
        return render(request, template, dict(context), status=status)
    if version and unchanged(request, version):
        return not_modified()
    answer = render(request, f"{template}#{fragment}", dict(context), status=status)
    if ended and status == HTTPStatus.OK:
        answer.status_code = HttpResponseStopPolling.status_code
    return answer


def wants_fragment(request: HtmxHttpRequest) -> bool:
    """Whether htmx asks for a part of the page. A boosted link or a restored history entry wants the whole."""
    return bool(request.htmx) and not request.htmx.boosted and not request.htmx.history_restore_request


def unchanged(request: HtmxHttpRequest, version: str) -> bool:
    """Whether a poll already shows this version: ask before the dear queries, then answer with `not_modified`."""
    return wants_fragment(request) and request.GET.get("seen") == version


class NotModified(HttpResponse):
    """204: htmx swaps nothing. What it says holds for `good_for` at most, where the page knows a deadline."""

    status_code = HTTPStatus.NO_CONTENT
    good_for: timedelta | None = None


def not_modified(good_for: timedelta | None = None) -> NotModified:
    """The answer to a poll that shows all there is. After `good_for` the clock alone makes the page another one."""
    answer = NotModified()
    answer.good_for = good_for
    patch_vary_headers(answer, ["HX-Request"])
    return answer


def see_other(request: HtmxHttpRequest, url: str) -> HttpResponse:
    """Go to `url` after a POST, with or without htmx."""
    return HttpResponseClientRedirect(url) if request.htmx else SeeOther(url)
