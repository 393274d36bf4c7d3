"""A superuser rewrites the ledger in every way that the proof knows, a few times each; the command tries 500."""

from __future__ import annotations

from typing import Any

import pytest

from durable.roots import verify
from proof.tampering import ledger, trying
from proof.tampering.kinds import CHAINED, SWAPPED

TRIALS = 12

pytestmark = [pytest.mark.process, pytest.mark.django_db(transaction=True, databases=["default", "owner"])]


def test_a_superuser_is_found_out_whatever_he_does_and_an_untouched_ledger_never_is(settings: Any) -> None:
    with ledger.filled() as found:
        rows = trying.all_kinds(lambda _line: None, found, TRIALS, seed=1)
    *kinds, control, hidden = rows
    assert [row.what for row in kinds] == [*CHAINED, SWAPPED]
    assert [(row.what, row.violations) for row in rows if row.violations] == []
    assert {row.tried for row in kinds} == {TRIALS}
    assert control.tried >= 2 * len(kinds)
    assert hidden.tried == 7 * TRIALS // 4


def test_a_verifier_that_looks_at_nothing_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verify, "findings", lambda *_, **__: iter(()))
    with ledger.filled() as found:
        rows = trying.all_kinds(lambda _line: None, found, 4, seed=1)
    assert all(len(row.violations) == 4 for row in rows[:-2])
