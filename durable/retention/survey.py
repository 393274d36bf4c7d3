"""What would go by other terms, before anybody puts them into force: how many rows and bytes of what, and what is held.

In a large database it looks at a sample of the runs and says so: an answer about all of them would take minutes, and be
old by then. Bytes come from what a row of the kind takes on the average, indexes included.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from durable.models import OF_RUNS
from durable.retention import periods, storage
from durable.retention.terms import Terms
from durable.sql import answer, answers, listed
from durable.states import ENDED, UNSETTLED, RunState

#: Runs that are looked at; of more a sample of about so many.
SAMPLE = 4_000

_ROWS: dict[str, str] = {
    # As `kinds` has it: all but the newest, what a fork began from, and the rows that hold the state of either.
    "checkpoints": """
SELECT count(*) FROM durable_checkpoint c WHERE c.run_id = r.id AND c.version < r.version
  AND NOT EXISTS (SELECT FROM durable_run f WHERE f.parent_id = r.id AND f.parent_version = c.version)
  AND NOT EXISTS (
      SELECT FROM durable_checkpoint k WHERE k.run_id = r.id AND k.state_version = c.version
        AND (k.version = r.version OR EXISTS (
            SELECT FROM durable_run f WHERE f.parent_id = r.id AND f.parent_version = k.version)))""",
    "frozen": f"""
SELECT count(*) FROM durable_frozen f WHERE f.run_id = r.id
  AND NOT (r.state = '{RunState.FAILED.value}' AND f.step = r.step AND f.visit = r.visit)""",
    "messages": """
SELECT count(*) FROM durable_message m WHERE m.branch_id = r.branch_id
  AND NOT EXISTS (SELECT FROM durable_branch b WHERE b.parent_id = r.branch_id)""",
    "payloads": """
SELECT count(*) FROM durable_sealkey k WHERE k.run_id = r.id AND k.wrapped IS NOT NULL
  AND NOT EXISTS (
      SELECT FROM durable_run f JOIN durable_sealkey o ON o.run_id = f.id
      WHERE f.parent_id = r.id AND o.wrapped IS NOT NULL)""",
}
_COUNT = """
SELECT {sums}
FROM (
    SELECT r.*, EXISTS (SELECT FROM durable_heldrun h WHERE h.run_id = r.id) AS on_hold,
           EXISTS (SELECT FROM durable_effect e WHERE e.run_id = r.id AND e.state IN ({unsettled})) AS unknown
    FROM durable_run r {sample}
    WHERE r.state IN ({ended}) AND r.ended_at < statement_timestamp() - {shortest} * interval '1 day'
) r CROSS JOIN LATERAL (SELECT {columns}) AS n
"""
_SUMS = (
    "coalesce(sum({name}) FILTER (WHERE NOT on_hold AND NOT unknown), 0)",
    "coalesce(sum({name}) FILTER (WHERE on_hold), 0)",
    "coalesce(sum({name}) FILTER (WHERE unknown AND NOT on_hold), 0)",
)
_SIZE = "SELECT greatest(reltuples, 0)::bigint FROM pg_class WHERE oid = 'durable_run'::regclass"
_BOXES = """
SELECT greatest(s.reltuples, 0) / greatest(k.reltuples, 1)
FROM pg_class s, pg_class k WHERE s.oid = 'durable_sealed'::regclass AND k.oid = 'durable_sealkey'::regclass
"""
_HOLDS = """
SELECT h.id, count(*) FROM durable_legalhold h JOIN durable_heldrun x ON x.hold_id = h.id
JOIN durable_run r ON r.id = x.run_id
WHERE r.state IN ({ended}) AND r.ended_at < statement_timestamp() - {shortest} * interval '1 day'
GROUP BY h.id ORDER BY h.id
"""


@dataclass(frozen=True, slots=True)
class Line:
    """What would go of one kind, and what would not though its time is over: held, or with an unknown effect."""

    kind: str
    rows: int
    bytes: int
    held: int = 0
    unknown: int = 0


@dataclass(frozen=True, slots=True)
class Survey:
    """What would go by some terms. `exact` unless it comes from a sample. `holds` counts, by hold, runs that it keeps.

    `root` is the newest period of the ledger that would go, 0 for none; `keeps` the run for which no later one may.
    """

    lines: tuple[Line, ...]
    exact: bool
    holds: Mapping[int, int]
    root: int = 0
    keeps: str = ""

    @property
    def rows(self) -> int:
        """All rows that would go."""
        return sum(line.rows for line in self.lines)

    @property
    def bytes(self) -> int:
        """About so much room would be free for others."""
        return sum(line.bytes for line in self.lines)

    def plain(self) -> dict[str, int]:
        """Rows by kind, as the log has it."""
        return {line.kind: line.rows for line in self.lines}


def look(terms: Terms, sizes: Mapping[str, storage.Size] | None = None) -> Survey:
    """Say what would go by these terms now, in well under a second however large the database is. `sizes` are those of
    `storage.now`, where the caller has them.
    """
    sizes = sizes or storage.now()
    shortest = terms.shortest
    lines: list[Line] = []
    exact, holds = True, dict[int, int]()
    if shortest is not None:
        runs = answer(_SIZE, {})
        share = 1.0 if runs is None or runs[0] <= SAMPLE else SAMPLE / runs[0]
        exact = share == 1.0
        lines = _of_runs(terms, shortest, share, sizes)
        held = answers(_HOLDS.format(ended=listed(ENDED), shortest=int(shortest)), {})
        holds = dict(held)
    if terms.ledger is None:
        return Survey(tuple(lines), exact, holds)
    found = periods.due(terms.ledger)
    gone = found.last - periods.gone() if found else 0
    # Events are numbered one by one: how many there are is the distance between two numbers, all but those refused.
    lines.append(Line("ledger", gone, gone * sizes["ledger"].each))
    return Survey(tuple(lines), exact, holds, found.root if found else 0, found.keeps if found else "")


def _of_runs(terms: Terms, shortest: int, share: float, sizes: Mapping[str, storage.Size]) -> list[Line]:
    kinds = [kind for kind in OF_RUNS if terms.of(kind) is not None]
    over = "r.ended_at < statement_timestamp() - {days} * interval '1 day'"
    columns = ", ".join(
        f"CASE WHEN {over.format(days=int(terms.of(kind) or 0))} THEN ({_ROWS[kind]}) ELSE 0 END AS {kind}"
        for kind in kinds
    )
    asked = _COUNT.format(
        sums=", ".join(one.format(name=kind) for kind in kinds for one in _SUMS),
        unsettled=listed(UNSETTLED),
        ended=listed(ENDED),
        # The same rows each time they are asked for, so that what was shown is what is counted again.
        sample="" if share == 1.0 else f"TABLESAMPLE SYSTEM ({share * 100:.6f}) REPEATABLE (7)",
        shortest=int(shortest),
        columns=columns,
    )
    row = answer(asked, {})
    assert row is not None
    boxes = answer(_BOXES, {})
    found = []
    for place, kind in enumerate(kinds):
        each = float(boxes[0]) if kind == "payloads" and boxes and boxes[0] else 1.0
        rows, held, unknown = (round(int(n) / share * each) for n in row[place * 3 : place * 3 + 3])
        found.append(Line(kind, rows, rows * sizes[kind].each, held, unknown))
    return found
