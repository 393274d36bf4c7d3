"""An effect in doubt: the request as it was sent, line by line beside what the vendor's look-up has shown."""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any

from approvals import opened
from approvals.outcomes import moment
from approvals.queries import effects, words
from approvals.templatetags.interlock import span
from durable import tools
from durable.errors import InterlockError, Invalid
from durable.models import Effect, Subject, Wait
from durable.money import to_minor

#: Two clocks never agree: made this much before our first request is still made after it.
_CLOCKS = timedelta(seconds=5)
_ALIKE, _LOOKED_THROUGH = 5, 200


def side_by_side(effect: Effect, doubt: Wait) -> dict[str, Any]:
    """What _evidence.html shows: rows of what was sent, a column for each candidate that was found."""
    found: list[dict[str, Any]] = doubt.detail.get("candidates") or []
    target = _target(effect)
    rows: list[dict[str, Any]] = []
    if effect.amount_minor is not None:
        asked = words.money(effect.amount_minor, effect.currency)
        rows.append({"name": "Amount", "sent": asked, "cells": [_amount(effect, one) for one in found]})
    if target:
        cells = [_cell(one.get("target"), one.get("target") == target) for one in found]
        rows.append({"name": "Target", "sent": target, "cells": cells, "code": True})
    keys = [_cell(one.get("key") or "none", one.get("key") == effect.key) for one in found]
    rows.append({"name": "Our key", "sent": effect.key, "cells": keys, "code": True})
    sent = moment(effect.first_sent_at) if effect.first_sent_at else "never"
    again = f", {effect.sends} requests in all" if effect.sends > 1 else ""
    made = [_made(effect, one) for one in found]
    told = f"first sent {sent}{again}"
    if effect.forgotten_since and not effect.sends:
        told = f"perhaps sent after {moment(effect.forgotten_since)}, and forgotten by a restore"
    rows.append({"name": "Made", "sent": told, "cells": made})
    states = [_cell(_status(one.get("facts")), None) for one in found]
    rows.append({"name": "Status", "sent": "no usable answer", "cells": states})
    taken = _owners(effect, found)
    rows.append(
        {"name": "Belongs to", "sent": effect.run.ref, "cells": [taken[str(one.get("id"))] for one in found]}
    )
    return {
        "columns": [
            {"letter": chr(ord("A") + n % 26), "id": str(one.get("id", ""))} for n, one in enumerate(found)
        ],
        "rows": rows,
        "alike": _alike(effect),
        "words": words.sentence(str(doubt.detail.get("sentence", ""))),
        "at": doubt.opened_at,
        "vendor": words.vendor(effect.vendor),
    }


def _alike(effect: Effect) -> list[dict[str, Any]]:
    """Our own other effects of the same subject and amount, the newest few: what is found may be theirs."""
    if effect.amount_minor is None:
        return []
    hashes = Subject.objects.filter(effect=effect).values("hash")
    of_subject = Subject.objects.filter(hash__in=hashes).values("effect_id")
    found = Effect.objects.filter(
        pk__in=of_subject, amount_minor=effect.amount_minor, currency=effect.currency
    ).exclude(pk=effect.pk)
    columns = ("id", "key", "state", "receipt_id", "recorded_at", "settled_at")
    # Sorted here: asked for its newest, the server may walk back through all effects there are.
    rows = sorted(found.order_by().values(*columns)[:_LOOKED_THROUGH], key=lambda row: -row["id"])
    return [{**row, "at": row["settled_at"] or row["recorded_at"]} for row in rows[:_ALIKE]]


def _target(effect: Effect) -> str:
    """What the request was about, where the tool says which argument that is."""
    try:
        name = tools.get(effect.tool).facts.target
        return str(opened.read(effect.payload, effect.run)["args"].get(name, "")) if name else ""
    except InterlockError:
        return ""


def _owners(effect: Effect, found: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Whether a candidate is another effect's receipt already; one query."""
    ids = [str(one.get("id")) for one in found]
    others = Effect.objects.filter(effects.bearing(ids), vendor=effect.vendor).exclude(pk=effect.pk)
    taken = dict(others.values_list("receipt_id", "key")) if ids else {}
    return {id: _cell(taken.get(id, "no other effect"), id not in taken) for id in ids}


def _status(facts: object) -> object:
    return facts.get("status") if isinstance(facts, dict) else None


def _cell(text: object, fits: bool | None) -> dict[str, Any]:
    return {"text": "not shown", "fits": None} if text is None else {"text": str(text), "fits": fits}


def _made(effect: Effect, candidate: dict[str, Any]) -> dict[str, Any]:
    """When the vendor says that it was made, and how far that is from our first request. A moment without a zone is
    shown as it is: nobody knows how far it is from anything.
    """
    said = candidate.get("at")
    try:
        at = datetime.fromisoformat(str(said))
        if at.utcoffset() is None:
            return _cell(f"{said}, without a zone", None)
        told = moment(at)
    except (ValueError, OverflowError):
        return _cell(None, None)
    if effect.first_sent_at is None:
        return _cell(told, None)
    away = at - effect.first_sent_at
    side = "before" if away < timedelta(0) else "after"
    return _cell(f"{told}, {span(abs(away))} {side}", away > -_CLOCKS)


def _amount(effect: Effect, candidate: dict[str, Any]) -> dict[str, Any]:
    amount, currency = candidate.get("amount"), candidate.get("currency")
    if amount is None or not currency:
        return _cell(amount, None)
    try:
        fits = (to_minor(Decimal(str(amount)), str(currency)), currency) == (
            effect.amount_minor,
            effect.currency,
        )
    except (Invalid, InvalidOperation):
        fits = False
    return _cell(f"{amount} {currency}", fits)
