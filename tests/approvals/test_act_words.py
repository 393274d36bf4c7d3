"""Acts in words: periods as people write them, and what cannot be read as it stands."""

from __future__ import annotations

from typing import Any

import pytest

from approvals.queries.act_words import details
from durable.states import ActKind

MADE: dict[str, Any] = {"vendor": "stripe", "account": "", "differences": 0}
DAY = {"from": "2026-11-29T00:00:00+00:00", "to": "2026-11-30T00:00:00+00:00"}
HOURS = {"from": "2026-11-30T00:00:00+00:00", "to": "2026-11-30T20:12:19.906381+00:00"}


@pytest.mark.parametrize(
    ("of", "said"),
    [
        (DAY, "29 Nov 2026"),
        (HOURS, "30 Nov 2026, 00:00 UTC to 30 Nov 2026, 20:12 UTC"),
        ({"from": "x", "to": "y"}, "x to y"),
    ],
)
def test_a_statements_period_is_told_as_its_own_page_tells_it(of: dict[str, str], said: str) -> None:
    assert details(ActKind.STATEMENT_MADE, "interlock", {**MADE, **of}) == [
        f"stripe, {said}",
        "everything agrees",
    ]
    assert details(ActKind.STATEMENT_ASKED, "rita", {"vendor": "stripe", **of}) == [f"stripe, {said}"]
