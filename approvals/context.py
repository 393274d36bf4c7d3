"""What every page's shell shows: where the person may go, how much waits there, and who they are."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, cast

from django.contrib.auth.models import User
from django.http import HttpRequest
from django.urls import reverse

from approvals import access, memory
from approvals.capabilities import Capability
from approvals.htmx import HtmxHttpRequest, wants_fragment
from approvals.queries import doubts, finding, inbox, pages
from approvals.run_query import STUCK
from durable.models import Unexplained

#: Whoever has any right has a first page.
_HOME = ("home", "Today", "home")
#: The entries by what one comes for: what is going on, what has been done, and how the house is kept.
_GROUPS = {
    "": (
        ("gates", "Inbox", "inbox", Capability.SEE_GATES),
        ("runs", "Runs", "stack-2", Capability.SEE_RUNS),
        ("doubts", "In doubt", "zoom-question", Capability.SEE_LEDGER),
        ("stuck", "Stuck", "alert-triangle", Capability.STEER_RUNS),
        ("compensation", "Compensation", "arrow-back-up", Capability.SEE_RUNS),
    ),
    "Records": (
        ("ledger", "Ledger", "database", Capability.SEE_LEDGER),
        ("refunds", "Refunds", "receipt-refund", Capability.SEE_LEDGER),
        ("statements", "Statements", "building-bank", Capability.SEE_LEDGER),
        ("acts", "Log", "fingerprint", Capability.SEE_LOG),
        ("exports", "Exports", "download", Capability.EXPORT),
    ),
    "House": (
        ("tools", "Tools", "tools", Capability.SEE_TOOLS),
        ("system", "System", "activity", Capability.SEE_SYSTEM),
        ("retention", "Retention", "calendar-x", Capability.SEE_LOG),
        ("erasures", "Erasures", "eraser", Capability.ERASE),
    ),
}


#: Entries that open a list by a query: the address's name, and the query, which is also what their badge counts.
_QUERIES = {"stuck": ("runs", "status:stuck")}


def has_home(held: frozenset[Capability]) -> bool:
    """Whether there is anything on the first page for this person: whoever has any right has a home."""
    return bool(held)


def _counts(user: User, held: frozenset[Capability]) -> dict[str, str]:
    """What waits behind the entries, counted from the same rows as their lists; absent where nothing waits."""
    lists: dict[str, pages.Listed | pages.Ids] = {}
    known: int | None = memory.of(user).get("waiting")  # the page itself has counted the inbox
    if Capability.SEE_GATES in held and known is None:
        lists["gates"] = inbox.live(user)
    if Capability.STEER_RUNS in held:
        lists["stuck"] = finding.of_all((STUCK,))
    if Capability.SEE_LEDGER in held:
        lists |= _of_ledger()
    counted = dict(zip(lists, map(pages.words, pages.counts(list(lists.values()))), strict=True))
    return counted if known is None else {"gates": pages.words(known), **counted}


@cache
def _of_ledger() -> dict[str, pages.Ids]:
    return {
        "doubts": pages.Ids.of(doubts.in_doubt()),
        "statements": pages.Ids.of(Unexplained.objects.all()),
    }


def version(counts: Mapping[str, str]) -> str:
    """Changes whenever a number beside an entry does."""
    return pages.version(sorted((name, count) for name, count in counts.items() if count not in ("", "0")))


def waiting(user: User) -> dict[str, str]:
    """What waits behind each entry that has a number and that the person sees, "" for nothing."""
    counts = _counts(user, access.capabilities(user))
    return {name: "" if count == "0" else count for name, count in counts.items()}


def _leads(request: HttpRequest, entry: str) -> dict[str, Any]:
    """Where an entry leads, and whether that is where the person is: a list's address is its query as well."""
    name, query = _QUERIES.get(entry, (entry, ""))
    here = request.resolver_match is not None and request.resolver_match.url_name == name
    asked = request.GET.get("q", "")
    others = [q for at, q in _QUERIES.values() if at == name and q != query]
    return {
        "url_name": name,
        "query": query,
        "current": here and (asked == query if query else asked not in others),
    }


def _item(
    request: HttpRequest, counts: Mapping[str, str], name: str, label: str, icon: str
) -> dict[str, Any]:
    return {"entry": name, "label": label, "icon": icon, "count": counts.get(name), **_leads(request, name)}


def navigation(request: HttpRequest) -> dict[str, Any]:
    """The shell's context: nothing for strangers, and nothing for a fragment, which has no shell."""
    user = getattr(request, "user", None)
    if not isinstance(user, User):
        return {}
    if hasattr(request, "htmx") and wants_fragment(cast(HtmxHttpRequest, request)):
        return {}
    held = access.capabilities(user)
    counts = _counts(user, held)
    groups: list[dict[str, Any]] = []
    for title, entries in _GROUPS.items():
        open_to: list[tuple[str, str, str]] = [entry[:3] for entry in entries if entry[3] in held]
        if title == "" and has_home(held):
            open_to = [_HOME, *open_to]
        if open_to:
            groups.append({"title": title, "items": [_item(request, counts, *one) for one in open_to]})
    return {
        "counts_seen": version(counts),
        "nav": groups,
        "role": access.role(user),
        "unclean": counts.get("statements", ""),
        "search_url": reverse("ledger") if Capability.SEE_LEDGER in held else "",
    }
