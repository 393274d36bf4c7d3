"""What somebody had typed when their sign-in was over or their page was from before it: kept, and offered again.

Nothing is stored. The text goes to the browser that sent it and comes back from there, signed, so that no other site
can put words into anybody's mouth: only what one of our own pages has sent is ever offered again.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from http import HTTPStatus
from typing import Any

from django.contrib.auth.forms import AuthenticationForm
from django.core import signing
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.cache import add_never_cache_headers
from django.utils.http import url_has_allowed_host_and_scheme

from approvals import throttle

#: The field in which the text travels through the sign-in.
FIELD = "kept"
_SALT = "interlock.kept"
#: As long as a sign-in may last: who comes back the same day finds it.
KEPT = timedelta(hours=12)
#: Larger ones are pasted files, of which the person has a copy.
_MOST = 200_000
_SECRET = frozenset({"password", "csrfmiddlewaretoken", FIELD})
#: What people type, besides the arguments of an edit; all else a page put there by itself, or was ticked or chosen.
_TYPED = frozenset({"reason", "receipt", "amount", "state", "input", "name"})


@dataclass(frozen=True, slots=True)
class Typed:
    """A form as it was sent: where to, from which page, its fields, those that a person typed apart, and by whom, as
    far as the browser knows: who had signed in in it last.
    """

    path: str
    back: str
    words: list[list[str]]
    rest: list[list[str]]
    by: str = ""

    def context(self) -> dict[str, Any]:
        """What `kept.html` shows."""
        words = [{"name": name, "label": _label(name), "value": value} for name, value in self.words]
        return {"path": self.path, "back": self.back, "words": words, "rest": self.rest, "by": self.by}


def typed(request: HttpRequest) -> Typed | None:
    """Return what the request would have done, where a person typed something for it on one of our pages; else None."""
    if request.method != "POST" or not _own(request):
        return None
    if again := request.POST.get(FIELD):
        return unpacked(again)
    pairs = [[name, value] for name in request.POST for value in map(str, request.POST.getlist(name))]
    if any(name == "password" for name, _ in pairs) or sum(len(value) for _, value in pairs) > _MOST:
        return None
    pairs = [pair for pair in pairs if pair[0] not in _SECRET]
    words = [[name, value] for name, value in pairs if _is_typed(name) and value.strip()]
    rest = [pair for pair in pairs if pair not in words]
    if not words:
        return None
    return Typed(request.get_full_path(), came_from(request), words, rest, throttle.last_here(request))


def _is_typed(name: str) -> bool:
    return name in _TYPED or name.startswith("arg-")


def packed(kept: Typed) -> str:
    """Return it as a text that only we can have made."""
    return signing.dumps([kept.path, kept.back, kept.words, kept.rest, kept.by], salt=_SALT, compress=True)


def unpacked(text: str) -> Typed | None:
    """Return what `packed` was given; None for what it did not make, or made longer than KEPT ago."""
    try:
        return Typed(*signing.loads(text, salt=_SALT, max_age=KEPT))
    except (signing.BadSignature, TypeError):
        return None


def sign_in_first(request: HttpRequest, kept: Typed) -> HttpResponse:
    """403 with the sign-in, which the text passes through."""
    context = {"form": AuthenticationForm(request), "next": kept.back, "kept": packed(kept)}
    return _uncached(render(request, "registration/login.html", context, status=HTTPStatus.FORBIDDEN))


def offered(request: HttpRequest, kept: Typed, why: str, status: int = HTTPStatus.OK) -> HttpResponse:
    """The page that shows the text, and sends it where it was meant to go once the person says so, in their name."""
    you = request.user.get_username()
    why = f"{why} Sent from here, it is in your name: {you}."
    if kept.by and kept.by != you:
        why = f"{why} It was typed while {kept.by} was signed in here: leave it, unless it is yours."
    return _uncached(render(request, "kept.html", {**kept.context(), "why": why}, status=status))


def came_from(request: HttpRequest) -> str:
    """The page of ours on which the person stood, as a path."""
    came = request.headers.get("Referer", "")
    inside = url_has_allowed_host_and_scheme(came, {request.get_host()}, require_https=request.is_secure())
    return came.partition(request.get_host())[2] if inside else "/"


def _own(request: HttpRequest) -> bool:
    """Whether the browser vouches that one of our pages sent this; other sites can't forge these headers."""
    site = request.headers.get("Sec-Fetch-Site")
    if site is not None:
        return site == "same-origin"
    return request.headers.get("Origin") == f"{request.scheme}://{request.get_host()}"


def _uncached(answer: HttpResponse) -> HttpResponse:
    add_never_cache_headers(answer)
    return answer


def _label(name: str) -> str:
    plain = name.removeprefix("arg-").replace("_", " ").replace("-", " ")
    return plain[:1].upper() + plain[1:]
