"""The numbers of the first page. Each is counted by the rows of the list that it opens; one statement for all."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.contrib.auth.models import User
from django.db.models import F, QuerySet
from django.urls import reverse

from approvals import access
from approvals.capabilities import Capability
from approvals.queries import behind, doubts, pages, runs, words
from approvals.queries.pictures import soon
from approvals.run_query import IN_DOUBT
from durable.states import RunState

_KEPT = """
SELECT currency, sum(amount_minor) FROM ({rows}) AS newest (currency, amount_minor, undo_of_id)
WHERE amount_minor IS NOT NULL AND undo_of_id IS NULL GROUP BY currency ORDER BY currency
"""


def read(user: User, now: datetime) -> dict[str, Any]:
    """Count everything that this person may see; what they may not is absent."""
    held = access.capabilities(user)
    lists: dict[str, QuerySet[Any]] = {}
    if Capability.SEE_RUNS in held:
        lists |= {
            "flight": behind.in_flight(),
            "running": runs.filtered(RunState.RUNNING, ""),
            "queued": runs.filtered(RunState.QUEUED, ""),
            "stuck": behind.stuck(),
            "doubtful": behind.doubtful(),
            "late": behind.late(),
            "sleeping": behind.sleeping(),
        }
    if Capability.SEE_GATES in held:
        lists |= {
            "gates": behind.live(user),
            "hard": behind.irreversible(user),
            "expiring": behind.expiring(user, now),
            "asked back": behind.asked_back(user),
            "for nobody": access.for_nobody(user),
        }
    if Capability.SEE_LEDGER in held:
        lists["doubt"] = doubts.in_doubt()
    found: dict[str, Any] = dict(zip(lists, pages.counts(list(lists.values())), strict=True))
    found["kept"] = _kept() if found.get("doubt") else []
    found["next"] = _next(user) if found.get("expiring") else None
    found["decides"] = Capability.DECIDE in held
    return found


def _kept() -> list[str]:
    """What is kept aside for effects in doubt, by currency."""
    newest = doubts.in_doubt().order_by("-pk").values_list("currency", "amount_minor", "undo_of_id")
    sums = pages.over(newest[: pages.COUNTED], _KEPT)
    return [words.money(int(total), currency) for currency, total in sums]


def _next(user: User) -> datetime | None:
    moment: datetime | None = (
        behind.live(user).order_by("decide_by").values_list(F("decide_by"), flat=True).first()
    )
    return moment


def summary(found: dict[str, Any]) -> str:
    """What needs people, in a sentence."""
    gates = found.get("gates", 0)
    if found["decides"]:
        return f"{_things(gates, 'gate')} an answer." if gates else "Nothing waits for an answer."
    stuck = found.get("stuck", 0)
    if not stuck and not gates:
        return "Nothing needs a person."
    return f"{_things(stuck, 'run')} an operator, {_things(gates, 'gate').lower()} an answer."


def _things(number: int, word: str) -> str:
    return f"{pages.words(number) if number else 'No'} {word}{'s need' if number > 1 else ' needs'}"


def shown(found: dict[str, Any], now: datetime) -> list[dict[str, Any]]:
    """The figures of home.html, those first that this person answers for."""
    made = [_waiting(found), _expiring(found, now)] if "gates" in found else []
    if "flight" in found:
        flight, stuck = _flight(found), _stuck(found)
        doubt = [_doubt(found)] if "doubt" in found else []
        made = (
            [*made, *doubt, stuck, flight]
            if found["decides"]
            else [flight, *made[:1], stuck, *doubt, *made[1:]]
        )
    return made


def _figure(
    label: str, look: tuple[str, str], value: int, href: str, *notes: tuple[str, str]
) -> dict[str, Any]:
    tone, icon = look
    return {
        "label": label,
        "icon": icon,
        "tone": tone,
        "value": pages.words(value),
        "href": href,
        "notes": [{"words": text, "href": target} for text, target in notes if text],
    }


def _flight(found: dict[str, Any]) -> dict[str, Any]:
    listed = reverse("runs")
    return _figure(
        "In flight", ("moving", "progress"), found["flight"], reverse("behind", args=["in-flight"]),
        (f"{pages.words(found['running'])} running", f"{listed}?state=running"),
        (f"{pages.words(found['queued'])} queued", f"{listed}?state=queued"),
    )  # fmt: skip


def _waiting(found: dict[str, Any]) -> dict[str, Any]:
    hard = reverse("behind", args=["irreversible"])
    back = reverse("behind", args=["asked-back"])
    alone = reverse("behind", args=["for-nobody"])
    return _figure(
        "Waiting for you" if found["decides"] else "Waiting for people",
        ("waits", "hand-stop"), found["gates"], reverse("gates"),
        (f"{pages.words(found['hard'])} irreversible", hard if found["hard"] else ""),
        (f"{pages.words(found['asked back'])} asked back" if found["asked back"] else "", back),
        (f"{pages.words(found['for nobody'])} for nobody" if found["for nobody"] else "", alone),
    )  # fmt: skip


def _stuck(found: dict[str, Any]) -> dict[str, Any]:
    doubtful = found["doubtful"]
    note = (f"{pages.words(doubtful)} of them in doubt", f"{reverse('runs')}?q=status:{IN_DOUBT}")
    return _figure(
        "Stuck", ("stopped", "alert-triangle"), found["stuck"], reverse("behind", args=["stuck"]),
        note if doubtful else ("need an operator", ""),
    )  # fmt: skip


def _doubt(found: dict[str, Any]) -> dict[str, Any]:
    note = f"{' and '.join(found['kept'])} kept for them" if found["kept"] else "did it happen?"
    return _figure(
        "In doubt",
        ("doubt", "zoom-question"),
        found["doubt"],
        reverse("doubts"),
        (note, ""),
    )


def _expiring(found: dict[str, Any], now: datetime) -> dict[str, Any]:
    note = f"next {soon(found['next'], now)}" if found["next"] else "nothing is due before midnight"
    return _figure(
        "Expiring today",
        ("quiet", "calendar-x"),
        found["expiring"],
        reverse("behind", args=["expiring"]),
        (note, ""),
    )


def health(found: dict[str, Any]) -> list[dict[str, Any]]:
    """What can be said from the counts alone: whether work is taken up in time. The system page says more.

    A line with a number opens the list that it counted, at `href`; of the others it is empty.
    """
    lines = [{"ok": True, "words": "Database answers", "href": ""}]
    if "late" in found:
        late = pages.words(found["late"])
        word = f"{late} due for over a minute and not taken: is a worker up?"
        lines.append(
            {"ok": False, "words": word, "href": reverse("behind", args=["late"])}
            if found["late"]
            else {"ok": True, "words": "Workers take up what is due", "href": ""}
        )
    if found.get("sleeping"):
        word = f"{pages.words(found['sleeping'])} suspended without an open wait"
        lines.append({"ok": False, "words": word, "href": reverse("behind", args=["sleeping"])})
    return lines
