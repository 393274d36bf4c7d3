"""The stand-in's standing switches: how it treats keys, how far look-ups lag, how long keys live."""

from __future__ import annotations

import time
from dataclasses import dataclass, fields
from typing import Any

CHOICES = {"keys": ("honour", "ignore"), "mismatch": ("refuse", "ignore_body", "new_object")}


@dataclass(slots=True)
class Modes:
    """Switches of the whole process until a reset.

    `keys`: honour or ignore them altogether. `mismatch`: another body under a used key is refused, answered
    with what was saved (ignore_body), or executed as a new object. `key_life` seconds until a key is pruned;
    `clock_skew` seconds are added to the vendor's clock, by which keys age and what it makes is dated;
    `lookup_lag` seconds until a list shows what was made.
    """

    keys: str = "honour"
    mismatch: str = "refuse"
    key_life: float = 24 * 3600.0
    clock_skew: float = 0.0
    lookup_lag: float = 0.0

    def set(self, wanted: dict[str, Any]) -> None:
        """Change the named switches. Raises ValueError naming the bad one; then nothing is changed."""
        clean: dict[str, Any] = {}
        names = {one.name for one in fields(self)}
        for name, value in wanted.items():
            if name not in names:
                raise ValueError(f"{name}: no such mode; use one of {', '.join(sorted(names))}")
            if name in CHOICES and value not in CHOICES[name]:
                raise ValueError(f"{name}: must be one of {', '.join(CHOICES[name])}")
            clean[name] = value if name in CHOICES else float(value)
        for name, value in clean.items():
            setattr(self, name, value)

    def reset(self) -> None:
        """Set every switch back to its default."""
        self.set({one.name: one.default for one in fields(self)})

    def now(self) -> float:
        """The vendor's clock, in seconds."""
        return time.time() + self.clock_skew

    def hides(self, record: dict[str, Any], lag: float) -> bool:
        """Whether a list may not show `record` yet."""
        return bool(self.now() - record["at"] < max(self.lookup_lag, lag))
