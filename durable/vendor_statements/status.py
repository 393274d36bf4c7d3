"""How statements stand: what nobody has explained, what could not be made, and how far each account is.

For the system page and the figures: one query, each part of which goes through an index, or stops counting.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from durable.sql import answer
from durable.vendor_statements.accounts import covered, named

#: Counts stop here.
COUNTED = 10_000
_SHOWN = 20

_STANDING = """
SELECT (SELECT count(*) FROM (SELECT FROM durable_unexplained LIMIT %(most)s) AS few), (
    SELECT json_agg(json_build_array(a.vendor, a.account, s."end", s.made_at) ORDER BY a.place)
    FROM unnest(%(vendors)s::text[], %(accounts)s::text[]) WITH ORDINALITY AS a (vendor, account, place)
    LEFT JOIN LATERAL (
        SELECT "end", made_at FROM durable_vendorstatement v WHERE v.vendor = a.vendor AND v.account = a.account
        ORDER BY v."end" DESC LIMIT 1
    ) s ON true
), (
    SELECT json_agg(json_build_array(id, vendor, account, start, "end", tries, trouble) ORDER BY due_at)
    FROM (
        SELECT * FROM durable_statementrequest WHERE due_at IS NOT NULL AND tries > 0 ORDER BY due_at LIMIT %(shown)s
    ) AS failing
)
"""


@dataclass(frozen=True, slots=True)
class Newest:
    """Up to when an account has been held against the ledger, and when that was done; None for never."""

    vendor: str
    account: str
    end: datetime | None
    made_at: datetime | None

    @property
    def name(self) -> str:
        """What people call the account."""
        return named(self.vendor, self.account)


@dataclass(frozen=True, slots=True)
class Failing:
    """A statement that could not be made so far, and why."""

    id: int
    vendor: str
    account: str
    start: datetime
    end: datetime
    tries: int
    trouble: str


@dataclass(frozen=True, slots=True)
class Standing:
    """`unexplained` counts rows that differ, up to `COUNTED` + 1; `newest` has each account that can be listed."""

    unexplained: int
    newest: list[Newest]
    failing: list[Failing]


def read() -> Standing:
    """Return how it stands now."""
    accounts = covered()
    values = {
        "most": COUNTED + 1,
        "shown": _SHOWN,
        "vendors": [one.vendor for one in accounts],
        "accounts": [one.account for one in accounts],
    }
    row = answer(_STANDING, values)
    assert row is not None
    number, newest, failing = row
    return Standing(
        number,
        [Newest(vendor, name, _at(end), _at(made)) for vendor, name, end, made in newest or ()],
        [_failing(*one) for one in failing or ()],
    )


def _failing(number: int, vendor: str, name: str, start: str, end: str, *rest: Any) -> Failing:
    return Failing(number, vendor, name, datetime.fromisoformat(start), datetime.fromisoformat(end), *rest)


def _at(moment: str | None) -> datetime | None:
    return None if moment is None else datetime.fromisoformat(moment)
