"""Acts on many runs, for several tests: who asks for them, what workers hear of, and what became of each run."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User

from approvals import bulk
from approvals.models import BulkAct
from tests import factories


@pytest.fixture(autouse=True)
def told(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The acts that workers were told of."""
    found: list[int] = []
    monkeypatch.setattr(bulk, "announce", found.append)
    return found


@pytest.fixture
def olga() -> User:
    """The operator herself, not her browser."""
    return factories.person("olga")


def outcomes(made: BulkAct) -> dict[str, tuple[str, str]]:
    """What became of each run, and in which words."""
    rows = made.results.values_list("run__ref", "outcome", "words")
    return {ref: (outcome, words) for ref, outcome, words in rows}
