"""The six classes of vendor. Each is a way of the stand-in, and tools that declare what is true of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from proof.schedules.errand import LAG, SHORT_LIFE

#: Seconds of a worker's lease in schedules, and after which it has run out when somebody looks again.
LEASE, AT_ONCE = 5, 6.0


@dataclass(frozen=True)
class VendorClass:
    """`modes` are the stand-in's; `outage` the seconds that pass between a death and the next process in the
    enumerated schedules. `new_code` says that later processes bring code which asks for another sum.
    """

    name: str
    says: str
    trade: str
    modes: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    outage: float = AT_ONCE
    new_code: bool = False

    @property
    def money(self) -> bool:
        return self.trade in ("long", "short")


_SHORT = SHORT_LIFE.total_seconds()

#: For controls: a vendor that breaks its word and honours no key. Only the look-up stands between it and a second act.
LIAR = VendorClass("liar", "promises keys and honours none", "long", {"keys": "ignore"})

CLASSES = MappingProxyType(
    {
        one.name: one
        for one in (
            VendorClass("K", "keyed, with look-up, keeps its errors", "long"),
            # Long enough that the key is gone, or at least too old, when somebody looks again.
            VendorClass(
                "KS", "keyed for a quarter of an hour", "short", {"key_life": _SHORT}, outage=_SHORT + 60
            ),
            VendorClass(
                "KI", "keyed, ignores another body", "long", {"mismatch": "ignore_body"}, new_code=True
            ),
            VendorClass(
                "KN",
                "keyed, makes a new object of another body",
                "long",
                {"mismatch": "new_object"},
                new_code=True,
            ),
            VendorClass(
                "U", "no keys, a look-up that lags", "goods", {"lookup_lag": LAG.total_seconds() - 1}
            ),
            VendorClass("O", "no keys, no look-up", "blind"),
        )
    }
)
