"""What tests of the engine begin with, and those of other folders that use its agents."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from durable import wakeup
from tests.engine import agents


@pytest.fixture
def world() -> Iterator[None]:
    """The small world of `agents`, empty, with its agents as they were afterwards."""
    with agents.world():
        yield


@pytest.fixture
def heard(world: None, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the workers are told about runs; the broker itself is away."""
    told: list[str] = []

    def publish(run_ref: str) -> bool:
        told.append(run_ref)
        return True

    monkeypatch.setattr(wakeup, "publish", publish)
    return told
