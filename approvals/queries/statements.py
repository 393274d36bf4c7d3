"""Statements of vendors as their pages show them: the list, and one of them with each row that differs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from django.db.models import Count, Exists, OuterRef, QuerySet

from approvals.queries import explained, pages, words
from approvals.templatetags.interlock import span
from durable.clock import db_now
from durable.findings import AGREED, Finding
from durable.models import Effect, StatementRequest, StatementTotal, Unexplained, VendorStatement
from durable.vendor_statements import requests
from durable.vendor_statements.accounts import Account, covered, named, uncovered

_DAY = timedelta(days=1)
#: In the order of the page: what nobody let out comes first.
ORDER = (
    Finding.VENDOR_ALONE,
    Finding.LEDGER_ALONE,
    Finding.AMOUNT,
    Finding.CURRENCY,
    Finding.OTHER_RECEIPT,
    Finding.DENIED,
    Finding.IN_DOUBT,
    Finding.BOTH,
    Finding.BESIDE,
)
#: What each kind means, and what to do about it.
MEANS = {
    Finding.VENDOR_ALONE: "The vendor has it, and nothing here asked for it: somebody acted past Interlock, on the"
    " vendor's own pages or with its key. Find out at the vendor who did, and whether the key must be changed.",
    Finding.LEDGER_ALONE: "The ledger holds a receipt, and the vendor does not show it. Look it up at the vendor: the"
    " receipt may be mistyped, of another account, or taken back without a trace.",
    Finding.AMOUNT: "Both have it, with different amounts. What the vendor says is what moved; a refund that failed"
    " later moved nothing.",
    Finding.CURRENCY: "Both have it, in different currencies. What the vendor says is what moved.",
    Finding.OTHER_RECEIPT: "The vendor has it under our key, and the ledger holds another receipt: it acted twice, or"
    " the receipt that a person gave is not the right one. Look at both at the vendor.",
    Finding.DENIED: "The vendor has it under our key, and the ledger says that it did not happen. Settle it with"
    " whoever gave that verdict; the money has moved.",
    Finding.IN_DOUBT: "The vendor has it under our key, and the ledger can't tell yet. Settle the effect as happened,"
    " with this receipt.",
    Finding.BOTH: "The vendor and the ledger agree.",
    Finding.BESIDE: "Settled in this period, and at the vendor up to an hour before or after it, or when it was sent.",
}
_ROW = ("id", "vendor", "account", "start", "end", "asked_by", "asked_at", "due_at", "tries", "trouble")


def listing(*, after: int | None, before: int | None) -> dict[str, Any]:
    """What statement_list.html shows: those that were made, and those that are to be."""
    found = StatementRequest.objects.all()
    page = pages.page(found.values(*_ROW), after=after, before=before)
    made = _made([row["id"] for row in page.rows])
    rows = [_listed(row, made.get(row["id"])) for row in page.rows]
    context = {
        "statements": rows,
        "page": page.context(pages.count(found)),
        "unfinished": any(row["due_at"] for row in page.rows),
    }
    return context | {"version": pages.version(context), "now": db_now()}


def around() -> dict[str, Any]:
    """What stands around the list: the accounts that may be asked for, and the tools that nobody can ask about."""
    accounts = covered()
    start, _ = requests.last_day(accounts)
    return {
        "accounts": [{"value": value(one), "name": one.name} for one in accounts],
        "uncovered": [tool.name for tool in uncovered()],
        "last_day": start.date().isoformat(),
    }


def value(one: Account) -> str:
    """An account as a form names it."""
    return urlencode({"vendor": one.vendor, "account": one.account})


def _made(numbers: Sequence[int]) -> dict[int, VendorStatement]:
    """The statements of a page that were made: what is `left` to explain, whether one is newer, and their totals."""
    newer = VendorStatement.objects.filter(
        vendor=OuterRef("vendor"), account=OuterRef("account"), start__lte=OuterRef("start"),
        end__gte=OuterRef("end"), pk__gt=OuterRef("pk"),
    )  # fmt: skip
    found = VendorStatement.objects.filter(pk__in=numbers).annotate(
        left=Count("open"), replaced=Exists(newer)
    )
    return {one.pk: one for one in found.prefetch_related("totals")}


def state(row: Any, made: Any) -> str:
    """The word of a statement's badge."""
    if made is None:
        return "not made" if row["tries"] else "being made"
    if made.left:
        return "differs"
    if not made.differences:
        return "clean"
    return "replaced" if made.replaced else "explained"


def _listed(row: pages.Row, made: VendorStatement | None) -> dict[str, Any]:
    shown = {
        **_head(row, made),
        "agreed": [],
        "found": [],
    }
    if made is not None:
        totals = list(made.totals.all())
        shown["agreed"] = [one for one in _sums(totals) if one["agreed"]]
        shown["found"] = _kinds(totals)
    return shown


def _kinds(totals: Iterable[StatementTotal]) -> list[dict[str, Any]]:
    """How many differences there are of each kind; each is a row of one side at least."""
    numbers: dict[str, int] = {}
    for one in totals:
        if one.kind not in AGREED:
            ours = one.ledger_number if one.kind == Finding.LEDGER_ALONE else 0
            numbers[one.kind] = numbers.get(one.kind, 0) + max(one.vendor_number, ours)
    return [{"kind": kind.value, "number": numbers[kind]} for kind in ORDER if numbers.get(kind)]


def _sums(totals: Iterable[StatementTotal]) -> list[dict[str, Any]]:
    rank = {kind: place for place, kind in enumerate(ORDER)}
    ordered = sorted(totals, key=lambda one: (one.currency, one.undo, rank[Finding(one.kind)]))
    return [
        {
            "kind": one.kind,
            "undo": one.undo,
            "currency": one.currency,
            "agreed": one.kind in AGREED,
            "ours": one.ledger_number,
            "ours_minor": int(one.ledger_minor),
            "theirs": one.vendor_number,
            "theirs_minor": int(one.vendor_minor),
        }
        for one in ordered
    ]


def _head(row: Any, made: VendorStatement | None) -> dict[str, Any]:
    return {
        "id": row["id"],
        "name": named(words.vendor(row["vendor"]), row["account"]),
        "period": period(row["start"], row["end"]),
        "state": state(row, made),
        "asked_by": row["asked_by"],
        "asked_at": row["asked_at"],
        "trouble": words.sentence(row["trouble"]),
        "tries": row["tries"],
        "due_at": row["due_at"],
        "made_at": made.made_at if made else None,
        "took": span(made.made_at - made.began_at) if made else "",
        "listed": made.listed if made else 0,
        "differences": made.differences if made else 0,
        "left": vars(made)["left"] if made else 0,  # `_made` has counted it
    }


def detail(request: StatementRequest, only: str, *, after: int | None, before: int | None) -> dict[str, Any]:
    """What statement_detail.html shows of one; `only` is a kind to show alone."""
    made = _made([request.pk]).get(request.pk)
    row = {name: getattr(request, name) for name in _ROW if name != "id"} | {"id": request.pk}
    context: dict[str, Any] = {"statement": _head(row, made), "now": db_now()}
    if made is None:
        return context | {"version": pages.version(context["statement"])}
    totals = list(made.totals.all())
    kinds = _kinds(totals)
    only = only if any(one["kind"] == only for one in kinds) else ""
    found = made.found.filter(kind=only) if only else made.found.all()
    page = pages.page(found.values(), after=after, before=before)
    number = sum(one["number"] for one in kinds if only in ("", one["kind"]))
    rows = _differences(page.rows)
    currencies = sorted({one.currency for one in totals})
    return context | {
        "version": "",
        "tools": made.tools,
        "digest": made.digest,
        "currencies": [
            {"code": code, "rows": [one for one in _sums(totals) if one["currency"] == code]}
            for code in currencies
        ],
        "chips": _chips(kinds, only, made.differences),
        "groups": _groups(rows),
        "page": page.context(number),
        "only": only,
        "tickable": any(one["open"] for one in rows),
    }


def _chips(kinds: list[dict[str, Any]], only: str, total: int) -> list[dict[str, Any]]:
    if len(kinds) < 2:
        return []
    every = [("", "All", total), *((one["kind"], one["kind"].capitalize(), one["number"]) for one in kinds)]
    return [
        {
            "query": urlencode({"kind": kind} if kind else {}),
            "label": label,
            "count": pages.words(number),
            "current": kind == only,
        }
        for kind, label, number in every
    ]


def _differences(rows: list[pages.Row]) -> list[dict[str, Any]]:
    """The rows of a page: which are still open, and what somebody has said of the others."""
    numbers = [row["id"] for row in rows]
    open_ones = set(Unexplained.objects.filter(pk__in=numbers).values_list("pk", flat=True))
    said = explained.by_likeness([row["likeness"] for row in rows if row["id"] not in open_ones])
    effects: QuerySet[Effect, Any] = Effect.objects.filter(pk__in=[row["effect_id"] for row in rows])
    states = dict(effects.values_list("pk", "state"))
    return [
        {
            **row,
            "open": row["id"] in open_ones,
            "explained": said.get(row["likeness"]),
            "state": states.get(row["effect_id"], ""),
        }
        for row in rows
    ]


def _groups(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows by kind, each kind with what to do about it."""
    found = []
    for kind in ORDER:
        some = [row for row in rows if row["kind"] == kind]
        if some:
            found.append({"kind": kind.value, "means": MEANS[kind], "rows": some})
    return found


def period(start: datetime, end: datetime) -> str:
    """A period in words, in UTC: `29 Nov 2026`, `27 Nov to 29 Nov 2026`, or with its moments."""
    first, last = start.astimezone(UTC), end.astimezone(UTC)
    if any(one.time().isoformat() != "00:00:00" for one in (first, last)):
        return f"{moment(first)} to {moment(last)}"
    last -= _DAY
    if last.date() <= first.date():
        return _day(first)
    if last.year == first.year:
        return f"{first.day} {first:%b} to {_day(last)}"
    return f"{_day(first)} to {_day(last)}"


def moment(at: datetime) -> str:
    """A moment in UTC: `29 Nov 2026, 03:00 UTC`."""
    there = at.astimezone(UTC)
    return f"{_day(there)}, {there:%H:%M} UTC"


def _day(at: datetime) -> str:
    return f"{at.day} {at:%b %Y}"
