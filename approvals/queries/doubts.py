"""The in-doubt desk: effects of which nobody can tell whether they happened, in the order in which people should work.

First those whose key may still be repeated, the one that grows too old next before all others; then the rest by age,
the oldest first, and of one age the larger sum first.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from django.db.models import Case, DateTimeField, F, IntegerField, Q, QuerySet, Value, When
from django.db.models.functions import Coalesce

from approvals.outcomes import moment
from approvals.queries import actors, pages, words
from approvals.templatetags.interlock import span
from durable import doubts
from durable.clock import db_now
from durable.models import Effect, Wait
from durable.states import EffectState, WaitKind, WaitState

_COLUMNS = (
    "id",
    "key",
    "tool",
    "amount_minor",
    "currency",
    "vendor",
    "undo_of_id",
    "sends",
    "looks",
    "error_saved",
    "first_sent_at",
    "next_look_at",
    "recorded_at",
    "safe_until",
    "rank",
    "since",
    "weight",
    "run__ref",
    "run__agent",
    "run__input",
)


def in_doubt() -> QuerySet[Effect]:
    """All of them: the list, its count and the menu's count start here."""
    return Effect.objects.filter(state=EffectState.IN_DOUBT.value)


def desk(after: str | None) -> dict[str, Any]:
    """One page of the desk. See doubt_list.html."""
    now = db_now()
    found = _ordered(now)
    rows = list(_behind(found, after).values(*_COLUMNS)[: pages.PAGE + 1])
    shown = rows[: pages.PAGE]
    asked = _questions(row["id"] for row in shown)
    people = actors.names(
        name
        for wait in asked.values()
        for name in (wait.detail.get("owner"), (doubts.proposal(wait) or {}).get("by"))
        if name
    )
    items = [_item(row, asked.get(row["id"]), people, now) for row in shown]
    total = pages.count(in_doubt())
    return {
        "doubts": items,
        "page": {
            "newer": "",
            "older": _cursor(shown[-1]) if len(rows) > pages.PAGE else "",
            "shown": len(items),
            "total": pages.words(total),
        },
        "total": pages.words(total),
        "sums": _sums(shown) if len(rows) <= pages.PAGE and not after else [],
        "version": pages.version(
            [(row["id"], row["looks"], _told(asked.get(row["id"]))) for row in shown], total
        ),
        "now": now,
    }


def _told(wait: Wait | None) -> Any:
    return wait and (wait.pk, wait.detail)


def _ordered(now: datetime) -> QuerySet[Effect]:
    lives = [
        When(tool=tool, undo_of__isnull=not undo, error_saved=False, then=F("first_sent_at") + Value(life))
        for (tool, undo), life in doubts.safe_lives().items()
    ]
    until = Case(*lives, default=None, output_field=DateTimeField())
    found = in_doubt().annotate(safe_until=until)
    found = found.annotate(
        rank=Case(When(safe_until__gt=now, then=0), default=1, output_field=IntegerField()),
        weight=Coalesce(F("amount_minor"), 0),
    )
    since = Case(
        When(rank=0, then=F("safe_until")),
        default=Coalesce(F("first_sent_at"), F("recorded_at")),
        output_field=DateTimeField(),
    )
    return found.annotate(since=since).order_by("rank", "since", "-weight", "id")


def _cursor(row: pages.Row) -> str:
    return f"{row['rank']}_{row['since'].isoformat()}_{row['weight']}_{row['id']}"


def _behind(found: QuerySet[Effect], after: str | None) -> QuerySet[Effect]:
    """What comes after a cursor; nonsense shows the first page."""
    try:
        rank_text, since_text, weight_text, id_text = (after or "").split("_")
        rank, since, weight, last = (
            int(rank_text),
            datetime.fromisoformat(since_text),
            int(weight_text),
            int(id_text),
        )
        since.astimezone()
        if max(rank, weight, last) >= 2**63:
            return found
    except (ValueError, OverflowError):
        return found
    same = Q(weight__lt=weight) | Q(weight=weight, id__gt=last)
    return found.filter(Q(rank__gt=rank) | Q(rank=rank) & (Q(since__gt=since) | Q(since=since) & same))


def _questions(effects: Iterable[int]) -> dict[int, Wait]:
    """The open question about each effect: the oldest, as `durable.doubts.question` has it."""
    found: dict[int, Wait] = {}
    asked = Wait.objects.filter(
        effect_id__in=list(effects), kind=WaitKind.ATTENTION.value, state=WaitState.OPEN.value
    )
    for wait in asked.order_by("-id"):
        if wait.effect_id is not None:
            found[wait.effect_id] = wait
    return found


def _item(row: pages.Row, wait: Wait | None, people: dict[str, str], now: datetime) -> dict[str, Any]:
    detail = {} if wait is None else wait.detail
    proposed = doubts.proposal(wait)
    undo = row["undo_of_id"] is not None
    look_at = moment_of(detail.get("look_at"))
    return {
        "key": row["key"],
        "run_id": row["run__ref"],
        "agent": row["run__agent"],
        "title": words.title(row["tool"], row["amount_minor"], row["currency"], undo=undo),
        "what": words.act(row["tool"]) if not undo else f"Undo: {words.act(row['tool'])}",
        "minor": row["amount_minor"],
        "currency": row["currency"],
        "subject": words.subject(row["run__input"]),
        "vendor": words.vendor(row["vendor"]),
        "sent_at": row["first_sent_at"],
        "said": words.sentence(str(detail.get("sentence") or "Nobody has been asked about it yet")),
        "heard": heard(detail),
        "found": len(detail.get("candidates") or []),
        "safe": _safe(row, now),
        "next": next_look(row["next_look_at"], detail, now),
        "owner": people.get(detail.get("owner", ""), ""),
        "look_at": look_at,
        "overdue": look_at is not None and look_at <= now,
        "proposed": f"{people[proposed['by']]} says: {proposed['verdict']}" if proposed else "",
    }


def moment_of(text: object) -> datetime | None:
    """A moment as a wait's detail keeps it; None for nothing, and for what is none."""
    try:
        return datetime.fromisoformat(str(text)) if text else None
    except ValueError:
        return None


def heard(detail: dict[str, Any]) -> str:
    """What the newest look-up said, with its time; empty before the first since it is in doubt."""
    at = moment_of(detail.get("heard_at"))
    return f"Asked again at {moment(at)}: {detail.get('heard')}." if at is not None else ""


def _safe(row: pages.Row, now: datetime) -> dict[str, Any]:
    """How long the key may still be repeated, as a word, a tone, and the moment at which that ends."""
    until: datetime | None = row["safe_until"]
    if row["error_saved"]:
        return {"words": "an error is saved under it", "tone": "stopped", "until": None}
    if until is None:
        return {"words": "no key to repeat under", "tone": "quiet", "until": None}
    if until <= now:
        return {"words": "too old to repeat", "tone": "stopped", "until": until}
    return {"words": f"{span(until - now)} left", "tone": "done", "until": until}


def next_look(at: datetime | None, detail: dict[str, Any], now: datetime) -> str:
    """When software asks again, and what it then does by itself."""
    if detail.get("heard", "").startswith("it can't be asked"):
        return "Its vendor can't be asked; only a person can find out."
    if at is None:
        return "No look-up is planned; only a person can find out."
    when = "with the next sweep" if at <= now else f"in {span(at - now)}"
    return f"Asks again {when}. Adopts what bears our key and fits; sends nothing."


def _sums(rows: list[pages.Row]) -> list[dict[str, Any]]:
    """What is at stake, by currency; each currency on its own."""
    found: dict[str, int] = {}
    for row in rows:
        if row["amount_minor"] is not None and row["undo_of_id"] is None:
            found[row["currency"]] = found.get(row["currency"], 0) + row["amount_minor"]
    return [{"currency": currency, "minor": minor} for currency, minor in sorted(found.items())]
