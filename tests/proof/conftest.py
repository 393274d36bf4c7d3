"""The proof's own tests: that it can fail, and a short form of what takes long."""

from __future__ import annotations

from tests.vendors import vendor, vendor_process

__all__ = ["vendor", "vendor_process"]
