"""The vendor's book held against the ledger: what really moved, and what the product says that it did.

The ledger's side comes from its events alone (`applied`, `adopted`), the other from the vendor's own process.
A row agrees when both name the same key, receipt, amount and currency, once.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from durable.models import Effect, LedgerEvent
from durable.money import from_minor
from durable.states import OPEN, EventKind

#: Vendors whose book the stand-in keeps. Mail has no book.
VENDORS = ("stripe", "stock")
_SETTLED = (EventKind.APPLIED.value, EventKind.ADOPTED.value)


@dataclass(frozen=True, slots=True, order=True)
class Entry:
    """One thing that moved: under which key, the vendor's name for it, and how much (nothing for goods)."""

    key: str
    receipt: str
    amount: Decimal | None
    currency: str | None

    def words(self) -> str:
        """How much moved, for people: amount and currency, or a dash."""
        return "-" if self.amount is None else f"{self.amount} {self.currency}"


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the comparison. `wrong` says in words what does not agree."""

    key: str
    booked: str
    recorded: str
    receipt: str
    wrong: str = ""


def from_book(moved: Iterable[Mapping[str, Any]]) -> list[Entry]:
    """Return the vendor's account."""
    return [
        Entry(
            one["key"] or "",
            one["id"],
            None if one["amount"] is None else Decimal(one["amount"]),
            one["currency"],
        )
        for one in moved
    ]


def from_ledger() -> list[Entry]:
    """Return the product's account: each effect that the ledger's events call applied, at a vendor with a book."""
    watched = set(Effect.objects.filter(vendor__in=VENDORS).values_list("key", flat=True))
    entries = []
    for event in LedgerEvent.objects.filter(kind__in=_SETTLED).order_by("id"):
        if event.effect_key in watched:
            entries.append(entry(event.effect_key, json.loads(event.body)))
    return entries


def entry(key: str, body: Mapping[str, Any]) -> Entry:
    """Return what one event that settles the effect `key` as applied says that moved."""
    currency, minor = body.get("currency"), body.get("amount_minor")
    return Entry(key, body["receipt"], None if minor is None else from_minor(minor, str(currency)), currency)


def under_way() -> set[str]:
    """Return the keys whose fate the ledger calls open: what the vendor has of these is no contradiction yet."""
    return set(Effect.objects.filter(state__in=[s.value for s in OPEN]).values_list("key", flat=True))


def compare(book: Sequence[Entry], ledger: Sequence[Entry]) -> list[Row]:
    """Hold one account against the other, entry by entry; every key of either has at least one row."""
    rows = []
    for key in sorted({entry.key for entry in (*book, *ledger)}):
        booked = [entry for entry in book if entry.key == key]
        recorded = [entry for entry in ledger if entry.key == key]
        wrong = _wrong(booked, recorded)
        for place in range(max(len(booked), len(recorded))):
            left = booked[place] if place < len(booked) else None
            right = recorded[place] if place < len(recorded) else None
            receipt = (left or right or Entry("", "", None, None)).receipt
            rows.append(Row(key, _words(left), _words(right), receipt, wrong))
    return rows


def _words(entry: Entry | None) -> str:
    return "nothing" if entry is None else entry.words()


def _wrong(booked: Sequence[Entry], recorded: Sequence[Entry]) -> str:
    if not recorded:
        return "moved, and not in the ledger"
    if not booked:
        return "in the ledger, and never moved"
    if len(booked) > 1:
        return f"moved {len(booked)} times"
    if len(recorded) > 1:
        return f"{len(recorded)} times in the ledger"
    for name in ("receipt", "amount", "currency"):
        if getattr(booked[0], name) != getattr(recorded[0], name):
            return f"another {name} in the ledger"
    return ""


def table(rows: Sequence[Row]) -> list[str]:
    """Return the comparison as lines for people, with sums for each currency."""
    heads = ("key", "vendor's book", "ledger", "receipt", "")
    cells = [heads] + [(r.key, r.booked, r.recorded, r.receipt, r.wrong or "agrees") for r in rows]
    widths = [max(len(row[place]) for row in cells) for place in range(4)]
    return [
        "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[4]]).rstrip()
        for row in cells
    ]


def sums(entries: Iterable[Entry]) -> str:
    """Return what moved in words, by currency: `372.40 EUR, 12800 JPY`."""
    total: dict[str, Decimal] = defaultdict(Decimal)
    for entry in entries:
        if entry.amount is not None and entry.currency:
            total[entry.currency] += entry.amount
    return ", ".join(f"{amount} {currency}" for currency, amount in sorted(total.items())) or "nothing"
