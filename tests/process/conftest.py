"""Real processes that get killed: workers, a sweeper, a vendor, on the tests' own PostgreSQL and broker."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from local.throwaway import ThrowAway
from proof.stage import Stage, stage
from tests.engine.fixtures import world
from tests.vendors import Vendor, vendor, vendor_process

__all__ = ["vendor", "vendor_process", "world"]


@pytest.fixture
def own() -> Iterator[ThrowAway]:
    """A PostgreSQL that waits for the disk, as in production, with the tables made, and a broker: to be killed."""
    services = ThrowAway.migrated(fsync=True)
    yield services
    services.stop()


@pytest.fixture
def on(vendor: Vendor, transactional_db: Any, nothing_asked: None) -> Iterator[Stage]:
    """A stage whose processes see the tests' database, broker and vendor; a dead worker's lease ends in a second."""
    settings = {"LEASE_SECONDS": "1", "SWEEP_SECONDS": "0.2", "LOG_LEVEL": "WARNING"}
    with stage(**settings, **vendor.environment()) as found:
        yield found
