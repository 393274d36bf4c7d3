"""Ledger events as lines for people: who, what, when, and the words that were said."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.utils import timezone

from approvals import opened
from approvals.queries import act_words, actors, bodies, pages
from durable import vault
from durable.models import Chain, LedgerEvent, Run
from durable.states import EventKind
from durable.text import quoted

#: Newest events of a page; the whole chain is the export's matter.
SHOWN = 100
#: Those on the page of a run, which leads on to all of them.
ON_RUN = 12

#: From here on, the time between two events is worth a line of its own.
_IDLE_SECONDS = 60

_TEXTS: dict[str, str] = {
    EventKind.STARTED: "started the run",
    EventKind.RESUMED: "took the run up again",
    EventKind.ATTEMPT_LOST: "lost a worker; its attempt is over",
    EventKind.INTENT: "wrote down what is meant to happen",
    EventKind.GATED: "asks people first",
    EventKind.WITHDRAWN: "took it back",
    EventKind.SETTLED: "settled it",
    EventKind.RESTORED: "restored the database from a backup",
    EventKind.PRUNED: "pruned what is kept no longer",
    EventKind.EXPIRED: "let it lapse: nobody decided in time",
    EventKind.NEW_ROUND: "opened a new round",
    EventKind.EDITED: "edited what would be sent",
    EventKind.REFUSED_DECISION: "tried to decide and was refused",
    EventKind.SENT: "let the request go out",
    EventKind.NOT_SENT: "could not send; nothing left",
    EventKind.NO_ANSWER: "got no answer that settles it",
    EventKind.LATE_ANSWER: "got an answer after its lease was over",
    EventKind.APPLIED: "has the vendor's receipt: it happened",
    EventKind.FAILED: "was told no: the vendor refused for good",
    EventKind.LOOKED_UP: "asked the vendor about it",
    EventKind.ADOPTED: "took over the receipt that the vendor has",
    EventKind.IN_DOUBT: "can't tell whether it happened",
    EventKind.VERDICT_PROPOSED: "proposed a verdict; a second person must agree",
    EventKind.VERDICT: "gave a verdict",
    EventKind.LEFT_IN_DOUBT: "can't tell, and left it in doubt",
    EventKind.LINKED: "linked a new key to the older one",
    EventKind.ATTENTION: "called a person",
    EventKind.HELD: "held the run",
    EventKind.RELEASED: "released the run",
    EventKind.RETRIED: "asked for the step once more",
    EventKind.SKIPPED: "skipped the step",
    EventKind.STATE_EDITED: "edited the working state",
    EventKind.FORKED: "forked the run",
    EventKind.CANCEL_ASKED: "asked to cancel the run",
    EventKind.COMPENSATION_ASKED: "asked to undo what the run did",
    EventKind.NOT_UNDOABLE: "could not undo it",
    EventKind.COMPLETED: "ended the run: completed",
    EventKind.RUN_FAILED: "ended the run: failed",
    EventKind.CANCELLED: "ended the run: cancelled",
    EventKind.COMPENSATED: "undid all that the run did",
    EventKind.PARTLY_COMPENSATED: "undid part of what the run did",
}


def listing(run: Run, effect_key: str | None = None) -> dict[str, Any]:
    """The newest events of a run, or of one of its effects, newest first. See _log.html."""
    found = LedgerEvent.objects.filter(run_ref=run.ref)
    if effect_key is not None:
        found = found.filter(effect_key=effect_key)
    rows = list(found.select_related("detail__sealed").order_by("-no")[:SHOWN])
    total = found.count() if len(rows) == SHOWN else len(rows)
    who = actors.names(told_of(rows))
    return {"log": lines(run, rows, who, of_effect=bool(effect_key)), "log_total": total}


def newest(run: Run) -> list[LedgerEvent]:
    """The events that the run's page shows: the newest first, read in one query."""
    found = LedgerEvent.objects.filter(run_ref=run.ref)
    return list(found.select_related("detail__sealed").order_by("-no")[:ON_RUN])


def page(run: Run, *, after: int | None, before: int | None) -> dict[str, Any]:
    """One page of a run's whole log, newest first. The events are numbered without a gap: so is the keyset."""
    found = LedgerEvent.objects.filter(run_ref=run.ref).select_related("detail__sealed")
    if before is not None:
        rows = list(found.filter(no__gt=before).order_by("no")[: pages.PAGE])[::-1]
    else:
        older = found if after is None else found.filter(no__lt=after)
        rows = list(older.order_by("-no")[: pages.PAGE])
    last = Chain.objects.filter(run_ref=run.ref).values_list("no", flat=True).first() or 0
    first, oldest = (rows[0].no, rows[-1].no) if rows else (last, 1)
    neighbours = pages.Page(
        [{"id": row.no} for row in rows],
        str(first) if first < last else "",
        str(oldest) if oldest > 1 else "",
    )
    who = actors.names(told_of(rows))
    return {"log": lines(run, rows, who), "page": neighbours.context(0) | {"total": f"{last:,}"}}


def lines(
    run: Run, rows: Sequence[LedgerEvent], who: Mapping[str, str], *, of_effect: bool = False
) -> list[dict[str, Any]]:
    """Events as lines of _log.html; `who` names each actor. On an effect's own page (`of_effect`) it goes unnamed."""
    key = _key(run) if any(hasattr(row, "detail") for row in rows) else None
    return [
        _line(newer, row, older, key, who)
        | {"who": who[row.actor], "effect": "" if of_effect else _short(row)}
        for newer, row, older in zip([None, *rows], rows, [*rows[1:], None], strict=False)
    ]


def told_of(rows: Sequence[LedgerEvent]) -> list[str]:
    """All whom lines about these events name."""
    return [*(row.actor for row in rows), *_named(rows)]


def _named(rows: Iterable[LedgerEvent]) -> list[str]:
    """Whom events name beside who made them: the owner of a doubt, the first of two people who agree."""
    found = [
        bodies.said(row.body) for row in rows if row.kind in (EventKind.VERDICT, EventKind.LEFT_IN_DOUBT)
    ]
    return [str(body[field]) for body in found for field in ("owner", "proposed_by") if field in body]


def _line(
    newer: LedgerEvent | None,
    row: LedgerEvent,
    older: LedgerEvent | None,
    key: bytes | vault.Tampered | None,
    who: Mapping[str, str],
) -> dict[str, Any]:
    idle = 0.0 if older is None else (row.at - older.at).total_seconds()
    day = timezone.localtime(row.at)
    new_day = newer is None or timezone.localtime(newer.at).date() != day.date()
    return {
        "kind": row.kind,
        "text": text(row, who),
        "said": words(row, key),
        "effect_key": row.effect_key,
        "at": row.at,
        "idle": idle if idle >= _IDLE_SECONDS else 0,
        "day": f"{day:%a} {day.day} {day:%b %Y}" if new_day else "",
    }


def _short(row: LedgerEvent) -> str:
    """An effect's key on the page of its run: what follows the run's own id."""
    return row.effect_key.removeprefix(f"{row.run_ref}:")


def text(row: LedgerEvent, who: Mapping[str, str]) -> str:
    """What an event says, in words that follow its actor's name; `who` names each actor."""
    text = _TEXTS.get(row.kind) or act_words.TEXTS.get(row.kind) or row.kind
    body = bodies.of(row.body)
    if body is None:
        return f"{text} {opened.TAMPERED}"
    if row.kind == EventKind.REFUSED_DECISION:
        text += f" ({body.get('verdict', '')}: {body.get('why', '')})"
    if row.kind in (EventKind.VERDICT, EventKind.VERDICT_PROPOSED):
        text += f": {body.get('verdict', '')}"
        text += f", by {quoted(str(body['receipt']))}" if body.get("receipt") else ""
        text += (
            f" (proposed by {who.get(str(body['proposed_by']), body['proposed_by'])})"
            if body.get("proposed_by")
            else ""
        )
    if row.kind == EventKind.FORKED:
        others = [name for name in ("input", "state") if body.get(name) == "replaced"]
        text += f", with another {' and another '.join(others)}" if others else ""
    if row.kind == EventKind.LEFT_IN_DOUBT:
        text += f" with {who.get(str(body.get('owner', '')), 'nobody')}"
    return text


def words(row: LedgerEvent, key: bytes | vault.Tampered | None) -> str:
    """What was said in an event of a run, under the run's `key`, or why nobody can read it; empty where nothing was."""
    if not hasattr(row, "detail"):
        return ""
    if key is None:
        return opened.GONE
    if isinstance(key, vault.Tampered):
        return opened.instead(key)
    try:
        return str(vault.unseal(key, row.detail.sealed))
    except vault.Tampered as error:
        return opened.instead(error)


def _key(run: Run) -> bytes | vault.Tampered | None:
    """The key of what was said in a run; None where it was destroyed."""
    try:
        return opened.key(run)
    except vault.Erased:
        return None
    except vault.Tampered as error:
        return error
