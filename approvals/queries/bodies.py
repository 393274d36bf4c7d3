"""The facts of an event, read for pages. One row that somebody has changed must not take its page down with it."""

from __future__ import annotations

import json
from typing import Any


def of(text: str) -> dict[str, Any] | None:
    """The facts that an event's `body` holds; None where it is no JSON object, which the product never writes."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def said(text: str) -> dict[str, Any]:
    """The same, with no facts at all where they can't be read: for what only picks some out."""
    return of(text) or {}
