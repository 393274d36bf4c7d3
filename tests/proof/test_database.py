"""The short form of the database's kills: nothing that was acknowledged is gone, and a loss would have been seen."""

from __future__ import annotations

import pytest

from proof import prove
from proof.parts import Extent

pytestmark = pytest.mark.process


def test_what_was_acknowledged_survives_five_kills_of_the_database_and_a_loss_would_be_seen() -> None:
    rows = {row.what: row for row in prove.one("database", Extent(kills=5))}

    assert {what: row.violations for what, row in rows.items() if not row.sound} == {}
    assert rows["database killed at a commit"].tried == 3
    assert rows["database killed under load"].tried == 2
    assert rows["runs that a killed database cut off go on"].tried > 0
    assert "acknowledged rows lost" in rows["control: no commit waits for the disk"].remark
