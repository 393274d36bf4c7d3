"""The vendor stand-in, as a real process."""

from __future__ import annotations

from tests.vendors import vendor, vendor_process

__all__ = ["vendor", "vendor_process"]
