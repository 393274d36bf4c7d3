"""The engine's own tests: real PostgreSQL, the real stand-in, runs driven in this process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.engine import agents
from tests.engine.tools import kit
from tests.vendors import vendor, vendor_process

__all__ = ["kit", "vendor", "vendor_process", "world"]


@pytest.fixture
def world() -> Iterator[None]:
    """The small world of `agents`, empty, with its agents as they were afterwards."""
    with agents.world():
        yield
