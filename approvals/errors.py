"""How a decision may fail. The message is what the person reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from durable.errors import Conflict, InterlockError


@dataclass(frozen=True, slots=True)
class Difference:
    """One argument that is no longer what the screen showed. An absent side is None."""

    name: str
    shown: str | None
    current: str | None


class Refused(InterlockError):
    """This person may not give this answer; nothing was written but the refusal itself."""


class Decided(Conflict):
    """Somebody was first, or the gate is over: the message says who, what and when. `again`: the same click twice."""

    def __init__(self, message: str, *, again: bool = False) -> None:
        super().__init__(message)
        self.again = again


class Expired(Conflict):
    """Decide-by is over. A refusal that came late is kept all the same."""


class Unread(Conflict):
    """The payload is long, and the person was not served all of it; the refusal alone is written."""


class Stale(Conflict):
    """The screen shows what would no longer be sent. `gate_id` is the gate that now stands, `differences` why."""

    def __init__(self, message: str, gate_id: int, differences: Sequence[Difference] = ()) -> None:
        super().__init__(message)
        self.gate_id = gate_id
        self.differences = tuple(differences)
