"""What a retry of a run's step would ask again, and what it gets from the record: model calls and frozen reads."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from durable.models import Run
from durable.sql import answer

# With the database's clock, which the page needs as well: that spares a query.
_SPEND = """
SELECT clock_timestamp(),
       count(*) FILTER (WHERE answered), coalesce(sum(tokens) FILTER (WHERE answered), 0),
       count(*) FILTER (WHERE NOT answered), coalesce(sum(reserved) FILTER (WHERE NOT answered), 0)
FROM durable_frozen WHERE run_id = %(run)s AND step = %(step)s AND visit = %(visit)s
"""


@dataclass(frozen=True, slots=True)
class Spend:
    """Calls of the step that are on record with what they cost, and those that a crash cut off."""

    kept: int = 0
    kept_tokens: int = 0
    cut: int = 0
    cut_tokens: int = 0

    def words(self) -> list[str]:
        """The same in sentences; none where the step has called nothing."""
        lines = []
        if self.kept:
            calls = "1 model call or read" if self.kept == 1 else f"{self.kept:,} model calls and reads"
            tokens = f": {self.kept_tokens:,} tokens are not spent again" if self.kept_tokens else ""
            lines.append(f"Answered from the record: {calls}{tokens}.")
        if self.cut:
            calls = "1 model call that was" if self.cut == 1 else f"{self.cut:,} model calls that were"
            lines.append(f"Made again: {calls} cut off; up to {self.cut_tokens:,} tokens are spent again.")
        return lines


def of(run: Run) -> tuple[datetime, Spend]:
    """Return the database's clock, and what stands on record for the step in which the run is."""
    row = answer(_SPEND, {"run": run.pk, "step": run.step, "visit": run.visit})
    assert row is not None
    now, kept, kept_tokens, cut, cut_tokens = row
    return now, Spend(kept, int(kept_tokens), cut, int(cut_tokens))
