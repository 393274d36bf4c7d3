"""A run's effects, all of them counted and the first of each kind named: however many there are, one query.

A page lists some; what an act will do is said of all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from approvals.queries import pages
from durable.models import Run
from durable.sql import answers
from durable.states import EffectState

#: The newest effects are the page's; the ledger has them all.
SHOWN = 50
#: More of one kind than this are counted, not listed.
LISTED = 6

_COLUMNS = (
    "id", "key", "tool", "effect_class", "amount_minor", "currency", "state", "receipt_id", "failure", "recorded_at",
    "first_sent_at", "settled_at", "undo_of_id", "step", "visit", "sends", "applied_no", "vendor",
)  # fmt: skip
_TOLD = (
    "here",
    "unanswered",
    "undo",
    "undone",
    "newest",
    "place",
    "group_place",
    "group_count",
    "group_minor",
)

# `here`: of the step in which the run stands. `undone`: an undo of it was applied. `unanswered`: the vendor may have it
# and it is looked up before anything else; where no request is open the engine sends it, or takes it back, at once.
# Ranked is what tells effects apart; the rest is read of those alone that a page shows.
_ALL = f"""
WITH undos AS (
    SELECT undo_of_id AS id FROM durable_effect WHERE run_id = %(run)s AND undo_of_id IS NOT NULL AND state = 'applied'
), mine AS MATERIALIZED (
    SELECT e.id, e.tool, e.currency, e.amount_minor, e.applied_no, e.state,
           e.undo_of_id IS NULL AND e.step = %(step)s AND e.visit = %(visit)s AS here,
           e.open_sends > 0 OR e.state = 'in doubt' OR e.forgotten_since IS NOT NULL AS unanswered,
           e.undo_of_id IS NOT NULL AS undo, e.id IN (SELECT id FROM undos) AS undone
    FROM durable_effect e WHERE e.run_id = %(run)s
), groups AS (
    SELECT min(id) AS id, count(*) AS group_count, sum(amount_minor) AS group_minor
    FROM mine GROUP BY state, here, unanswered, undo, undone, tool, currency
), placed AS (
    SELECT id, row_number() OVER (
               PARTITION BY state, here, unanswered, undo, undone ORDER BY applied_no DESC NULLS LAST, id
           ) AS place
    FROM mine
), newest AS (
    SELECT id, row_number() OVER (ORDER BY id DESC) AS newest FROM mine ORDER BY id DESC LIMIT {SHOWN}
)
SELECT {", ".join(f"e.{column}" for column in _COLUMNS)}, mine.here, mine.unanswered, mine.undo, mine.undone,
       coalesce(newest.newest, {SHOWN + 1}), placed.place, CASE WHEN groups.id IS NULL THEN 2 ELSE 1 END,
       groups.group_count, groups.group_minor
FROM placed JOIN mine USING (id) LEFT JOIN newest USING (id) LEFT JOIN groups USING (id)
JOIN durable_effect e ON e.id = mine.id
WHERE newest.id IS NOT NULL OR placed.place <= {LISTED} OR groups.id IS NOT NULL
ORDER BY e.id
"""


@dataclass(frozen=True, slots=True)
class Some:
    """Some of a run's effects: how many, their amounts by currency, how many of each tool, and the first of them."""

    count: int
    sums: Mapping[str, int]
    tools: Mapping[str, int]
    parts: Mapping[tuple[str, str], int]  # amounts by tool and currency
    rows: Sequence[pages.Row]

    def __bool__(self) -> bool:
        return self.count > 0

    @property
    def more(self) -> int:
        """How many there are besides those in `rows`."""
        return self.count - len(self.rows)


class Tally:
    """All effects of a run. `rows` are the newest, in the order in which they were recorded."""

    def __init__(self, found: Iterable[pages.Row]) -> None:
        self._found = list(found)
        self.rows = [row for row in self._found if row["newest"] <= SHOWN]
        self.count = sum(row["group_count"] for row in self._found if row["group_place"] == 1)

    def some(self, states: Iterable[EffectState], most: int = LISTED, **told: bool) -> Some:
        """Those in these states, and `here`, `unanswered`, `undo` or `undone` where asked, as they were recorded."""
        wanted = {state.value for state in states}
        found = [
            row
            for row in self._found
            if row["state"] in wanted and all(row[name] is value for name, value in told.items())
        ]
        sums: dict[str, int] = {}
        tools: dict[str, int] = {}
        parts: dict[tuple[str, str], int] = {}
        for group in (row for row in found if row["group_place"] == 1):
            tools[group["tool"]] = tools.get(group["tool"], 0) + group["group_count"]
            if group["group_minor"] is not None:
                part = (group["tool"], group["currency"])
                parts[part] = parts.get(part, 0) + int(group["group_minor"])
                sums[group["currency"]] = sums.get(group["currency"], 0) + int(group["group_minor"])
        listed = [row for row in found if row["place"] <= LISTED]
        return Some(sum(tools.values()), dict(sorted(sums.items())), tools, parts, listed[:most])

    @property
    def undoable(self) -> Some:
        """What could be undone: applied, no undo itself, and not undone yet; the last applied first."""
        some = self.some([EffectState.APPLIED], LISTED * 2, undo=False, undone=False)
        last_first = sorted(some.rows, key=lambda row: row["applied_no"] or 0, reverse=True)
        return replace(some, rows=last_first[:LISTED])


def of(run: Run) -> Tally:
    """Read the effects of a run."""
    names = (*_COLUMNS, *_TOLD)
    found = answers(_ALL, {"run": run.pk, "step": run.step, "visit": run.visit})
    whole: dict[str, Any] = {"run__ref": run.ref, "run__input": run.input}
    return Tally(dict(zip(names, row, strict=True)) | whole for row in found)
