"""What every page's shell shows: where the person may go, how much waits there, and who they are."""

from __future__ import annotations

from typing import Any, cast

from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse

from approvals import access
from approvals.capabilities import Capability
from approvals.htmx import HtmxHttpRequest, wants_fragment
from approvals.queries import doubts, inbox, pages, runs

_ITEMS = (
    ("gates", "Inbox", "inbox", Capability.SEE_GATES),
    ("runs", "Runs", "stack-2", Capability.SEE_RUNS),
    ("doubts", "In doubt", "zoom-question", Capability.SEE_LEDGER),
    ("ledger", "Ledger", "database", Capability.SEE_LEDGER),
    ("compensation", "Compensation", "arrow-back-up", Capability.SEE_RUNS),
    ("tools", "Tools", "tools", Capability.SEE_TOOLS),
    ("system", "System", "activity", Capability.SEE_SYSTEM),
)


def has_home(held: frozenset[Capability]) -> bool:
    """Whether there is anything on the first page for this person: whoever has any right has a home."""
    return bool(held)


def _counts(user: User, held: frozenset[Capability]) -> dict[str, str]:
    """What waits behind the entries, counted from the same rows as their lists; absent where nothing waits."""
    lists: dict[str, QuerySet[Any]] = {}
    known: int | None = getattr(user, "_interlock_waiting", None)  # the page itself has counted the inbox
    if Capability.SEE_GATES in held and known is None:
        lists["gates"] = inbox.live(user)
    if Capability.STEER_RUNS in held:
        lists["runs"] = runs.filtered(runs.STUCK, "")
    if Capability.SEE_LEDGER in held:
        lists["doubts"] = doubts.in_doubt()
    counted = dict(zip(lists, map(pages.words, pages.counts(list(lists.values()))), strict=True))
    return counted if known is None else {"gates": pages.words(known), **counted}


def navigation(request: HttpRequest) -> dict[str, Any]:
    """The shell's context: nothing for strangers, and nothing for a fragment, which has no shell."""
    user = getattr(request, "user", None)
    if not isinstance(user, User):
        return {}
    if hasattr(request, "htmx") and wants_fragment(cast(HtmxHttpRequest, request)):
        return {}
    held = access.capabilities(user)
    counts = _counts(user, held)
    items = [
        {"url_name": name, "label": label, "icon": icon, "count": counts.get(name)}
        for name, label, icon, needs in _ITEMS
        if needs in held
    ]
    home = [{"url_name": "home", "label": "Today", "icon": "home", "count": None}] if has_home(held) else []
    return {
        "nav": [{"title": "", "items": home + items}] if home + items else [],
        "role": access.role(user),
        "search_url": reverse("ledger") if Capability.SEE_LEDGER in held else "",
    }
