"""The engine's own tests: real PostgreSQL, the real stand-in, runs driven in this process."""

from __future__ import annotations

from tests.engine.fixtures import heard, world
from tests.engine.tools import kit
from tests.vendors import vendor, vendor_process

__all__ = ["heard", "kit", "vendor", "vendor_process", "world"]
