"""What has been found out about one loaded object, kept with it: a page asks the same of it in several places.

The memory is that object's alone. Whoever must not believe it (a decision, under its locks) loads the object anew.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


def of(owner: object) -> dict[str, Any]:
    """Return what is known of this very object, by name; to be added to."""
    found: dict[str, Any] = owner.__dict__.setdefault("_interlock", {})
    return found


def once(owner: object, name: str, find: Callable[[], T]) -> T:
    """Return what `find` finds, looked up once for this object."""
    known = of(owner)
    if name not in known:
        known[name] = find()
    found: T = known[name]
    return found
