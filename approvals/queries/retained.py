"""Retention for the eye: what the policy says, what went by it, what would go, and how much room everything takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from datetime import date, datetime
from typing import Any

from approvals.charts import Chart, Column, Piece, draw
from approvals.queries import bodies, held, pages
from durable.models import LedgerEvent, RetentionPass
from durable.retention import storage, survey
from durable.retention.terms import ABOUT, KINDS, Terms, policy, terms
from durable.states import ActKind

#: What each kind is called, and what it is.
NAMES: dict[str, tuple[str, str]] = {
    "checkpoints": ("Checkpoints", "those in between; an ended run keeps its last"),
    "frozen": ("Frozen results", "what reads and models had answered"),
    "messages": ("Conversations", "what was said; without it a run is not forked or retried any more"),
    "payloads": (
        "Payloads",
        "what was sent and what people wrote, sealed; without it nothing is undone any more",
    ),
    "ledger": ("Ledger", "events and effects, in whole sealed periods; the proof that outlives all else"),
}
_OTHERS = {"runs": "Runs", "search": "Search index", storage.REST: "Everything else"}
_LOOKS = {
    "ledger": "accent", "payloads": "moving", "checkpoints": "done", "messages": "doubt", "frozen": "accent-light",
    "runs": "stopped", "search": "quiet", storage.REST: "quiet",
}  # fmt: skip
#: Passes that are listed, and days of the chart.
_PASSES, _DAYS = 14, 90
_UNITS = ("bytes", "kB", "MB", "GB", "TB", "PB")


def size(number: float) -> str:
    """Bytes for the eye: `12 MB`, `1.4 GB`."""
    place = 0
    while number >= 1_000 and place < len(_UNITS) - 1:
        number, place = number / 1_000, place + 1
    digits = 1 if place and number < 10 else 0
    return f"{number:,.{digits}f} {_UNITS[place]}"


def days(number: int | None) -> str:
    """A time in days: `7 days`, `for ever`."""
    if number is None:
        return "for ever"
    years = f" ({number / 365.25:.1f} years)" if number >= 730 else ""
    return f"{number:,} day{'' if number == 1 else 's'}{years}"


def overview(*, with_due: bool) -> dict[str, Any]:
    """What retention.html shows; what is due is among it where asked for, as it takes a moment."""
    present, sizes = policy(), storage.now()
    by = terms(present)
    rows = [
        {
            "name": NAMES[kind][0], "what": NAMES[kind][1], "days": days(by.of(kind)),
            "bytes": size(sizes[kind].bytes), "rows": sizes[kind].rows,
        }
        for kind in KINDS
    ]  # fmt: skip
    return {
        "policy": present,
        "rows": rows,
        "rest": [
            {"name": name, "bytes": size(sizes[kind].bytes), "rows": sizes[kind].rows}
            for kind, name in _OTHERS.items()
        ],
        "total": size(sum(one.bytes for one in sizes.values())),
        "passes": list(RetentionPass.objects.order_by("-day")[:_PASSES]),
        "gone": gone(),
        "standing": held.standing(),
        "chart": chart(storage.by_day(_DAYS)),
        **({"survey": shown(survey.look(by, sizes))} if with_due else {}),
    }


def version() -> str:
    """Changes with the policy, with what has gone by it, and with the holds; room is shown as it was found."""
    passes = list(RetentionPass.objects.order_by("-day").values_list()[:_PASSES])
    return pages.version(policy().pk, passes, gone(), [hold.pk for hold in held.standing()])


def due() -> dict[str, Any]:
    """What goes by the policy in force when it is next asked for."""
    return {"survey": shown(survey.look(terms(policy())))}


def shown(found: survey.Survey) -> dict[str, Any]:
    """A survey for the eye."""
    return {
        "lines": [
            asdict(line) | {"name": NAMES[line.kind][0], "size": size(line.bytes)} for line in found.lines
        ],
        "rows": found.rows,
        "size": size(found.bytes),
        "exact": found.exact,
        "holds": [{"id": id, "runs": runs} for id, runs in found.holds.items()],
        "root": found.root,
        "keeps": found.keeps,
    }


def changes(before: Terms, after: Terms) -> list[dict[str, str]]:
    """What one policy says otherwise than another."""
    return [
        {"name": NAMES[kind][0], "was": days(before.of(kind)), "now": days(after.of(kind))}
        for kind in KINDS
        if before.of(kind) != after.of(kind)
    ]


def gone() -> dict[str, Any] | None:
    """Up to when the ledger's records have gone, by the cut of which root; None where none have. What the cut does not
    say readably is None.
    """
    cut = LedgerEvent.objects.filter(run_ref=ABOUT, kind=ActKind.LEDGER_CUT.value).order_by("-no").first()
    if cut is None:
        return None
    said = bodies.said(cut.body)
    try:
        until = datetime.fromisoformat(str(said.get("until")))
    except ValueError:
        until = None
    return {"root": said.get("root"), "until": until}


def chart(by_day: Mapping[date, Mapping[str, int]]) -> Chart | None:
    """Storage by kind over the days that are on record; None before there is one."""
    if not by_day:
        return None
    kinds = [*NAMES, *_OTHERS]
    names = {kind: name for kind, (name, _) in NAMES.items()} | _OTHERS
    columns = []
    for day, sizes in by_day.items():
        told = ", ".join(f"{names[kind]} {size(sizes.get(kind, 0))}" for kind in kinds if sizes.get(kind))
        pieces = tuple(Piece(sizes.get(kind, 0), _LOOKS[kind]) for kind in kinds)
        columns.append(
            Column(f"{day}: {told}", pieces, (str(day), *(size(sizes.get(kind, 0)) for kind in kinds)))
        )
    first, last = min(by_day), max(by_day)
    total = size(sum(by_day[last].values()))
    return draw(
        "storage",
        f"Storage by kind from {first} to {last}: {total} on the last day",
        columns,
        head=("Day", *(names[kind] for kind in kinds)),
        foot=(str(first), "", str(last) if last != first else ""),
        scale=size,
    )
