"""What an auditor asks: searches in the ledger, dossiers, and the history of refunds, each with its own oracle."""

from __future__ import annotations

import re
import shlex
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.db.models import QuerySet
from django.urls import reverse

from durable.digest import keyed_hash
from durable.models import Effect, Run, Subject
from tests.bench import paging
from tests.bench.ours import exactly, extremes
from tests.bench.ours.exactly import Exactly

_RANGE = re.compile(r"(>=|<)?(\d+(?:\.\d+)?)(?:\.\.(\d+(?:\.\d+)?))?")
_DECIMALS = {"EUR": 2, "KWD": 3, "JPY": 0}
#: The events that say who decided.
_DECIDED = """
SELECT FROM durable_ledgerevent v WHERE v.effect_key = e.key AND v.kind IN ('approved', 'rejected', 'verdict')
"""


def names() -> dict[str, str]:
    """What the braces of a search stand for."""
    effect = Effect.objects.filter(state="applied", tool="refund").exclude(receipt_id="").order_by("-pk")[7]
    order = effect.run.input["order"]
    first, last = (
        Effect.objects.order_by(way).values_list("recorded_at", flat=True)[0] for way in ("pk", "-pk")
    )
    middle = first + (last - first) / 2
    return {
        "order": order, "tail": order[-5:], "customer": extremes.CUSTOMER, "part": _part(),
        "receipt": effect.receipt_id, "key": effect.key, "amount": _amount(effect), "ref": effect.run.ref,
        "month": f"{middle:%Y-%m}", "day": f"{middle:%Y-%m-%d}",
    }  # fmt: skip


def _part() -> str:
    """A part of a few customers' names: those of the demonstration bear a number behind it."""
    return "fischer42"


def _amount(effect: Effect) -> str:
    assert effect.amount_minor is not None
    return f"{effect.amount_minor / 10 ** _DECIMALS[effect.currency]:.{_DECIMALS[effect.currency]}f}"


def address(query: str) -> str:
    """Where a search stands."""
    return f"{reverse('ledger')}?{urlencode({'q': query})}"


def must(query: str) -> Exactly:
    """What the ledger must say for a search: nothing where only unsealing would tell."""
    words = shlex.split(query)
    if "*" in query or not all(":" in word for word in words):
        return Exactly()
    where = " AND ".join(f"({_where(*word.split(':', 1))})" for word in words)
    few = {word.partition(":")[0] for word in words} & {"customer", "order", "receipt", "key", "amount"}
    return Exactly(exactly.count("durable_effect e", where), capped=bool(few))


def _where(key: str, value: str) -> str:
    match key:
        case "customer" | "order":
            hash = keyed_hash(key, value, settings.INTERLOCK_HASH_KEY)
            return f"id IN (SELECT effect_id FROM durable_subject WHERE hash = '{hash}')"
        case "receipt":
            return f"receipt_id = '{value}'"
        case "key":
            return f"key LIKE '{value}%'"
        case "agent":
            return f"run_id IN (SELECT id FROM durable_run WHERE agent = '{value}')"
        case "decided-by":
            decided = f"EXISTS ({_DECIDED} AND v.actor = '{value}')"
            return f"NOT EXISTS ({_DECIDED})" if value == "none" else decided
        case "state":
            return " OR ".join(_state(word) for word in value.split(","))
        case "amount":
            return _sums(value)
        case "from" | "to":
            return _when(key, value)
    return f"{key} = '{value}'"


def _state(word: str) -> str:
    if word == "undone":
        return "EXISTS (SELECT FROM durable_effect u WHERE u.undo_of_id = e.id AND u.state = 'applied')"
    return f"state = '{word}'"


def _sums(value: str) -> str:
    found = _RANGE.fullmatch(value)
    assert found is not None
    sign, low, high = found.groups()
    either = []
    for currency, decimals in _DECIMALS.items():
        exact = f"amount_minor::numeric / {10**decimals}"
        held = {">=": f"{exact} >= {low}", "<": f"{exact} < {low}"}
        between = held.get(sign, f"{exact} BETWEEN {low} AND {high or low}")
        either.append(f"currency = '{currency}' AND {between}")
    return " OR ".join(either)


def _when(key: str, value: str) -> str:
    day = datetime.strptime(value, "%Y-%m-%d" if value.count("-") == 2 else "%Y-%m").replace(tzinfo=UTC)
    if key == "from":
        return f"recorded_at >= '{day.isoformat()}'"
    after = day + timedelta(days=1) if value.count("-") == 2 else (day + timedelta(days=32)).replace(day=1)
    return f"recorded_at < '{after.isoformat()}'"


def refunds() -> dict[str, list[str]]:
    """The addresses of the history, by what is asked."""
    periods = zip(paging.ASKED["refunds"], ("30d", "90d", "1y", "all"), strict=True)
    return {what: [f"{reverse('refunds')}?period={name}"] for what, name in periods}


def dossiers(long: Run) -> dict[str, dict[str, list[str]]]:
    """The addresses of dossiers, by page and by what is asked."""
    effects, runs = Effect.objects.order_by("-pk"), Run.objects.order_by("-pk")
    about = keyed_hash("customer", extremes.CUSTOMER, settings.INTERLOCK_HASH_KEY)
    found: dict[str, dict[str, tuple[QuerySet[Any, Any], str]]] = {
        "dossier-effect": {
            "newest": (effects, "key"),
            "oldest": (effects.reverse(), "key"),
            "in doubt": (effects.filter(state="in doubt"), "key"),
        },
        "dossier-run": {
            "newest": (runs.filter(effects__isnull=False).distinct(), "ref"),
            "of a dozen effects": (runs.filter(agent="StockDesk"), "ref"),
            "long": (runs.filter(pk=long.pk), "ref"),
        },
        "dossier-subject": {
            "newest": (Subject.objects.order_by("-pk"), "hash"),
            "of the customer with many": (Subject.objects.filter(hash=about).order_by("pk")[:1], "hash"),
        },
    }
    return {
        page: {
            what: [reverse(page, args=[one]) for one in rows.values_list(name, flat=True)[: paging.OBJECTS]]
            for what, (rows, name) in asked.items()
        }
        for page, asked in found.items()
    }
