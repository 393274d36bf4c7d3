"""The engine's own tests: real PostgreSQL, the real stand-in, runs driven in this process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from durable import draining
from tests.engine.fixtures import heard, world
from tests.engine.tools import kit
from tests.vendors import vendor, vendor_process

__all__ = ["heard", "kit", "vendor", "vendor_process", "world"]


@pytest.fixture(autouse=True)
def _by_itself(world: None) -> Iterator[None]:
    """No test sees what another asked of the small world's tools, nor a worker that another has told to end."""
    yield
    draining.renew()
