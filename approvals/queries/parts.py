"""What the system page is made of: parts, their facts, and what is wrong with them in words."""

from __future__ import annotations

from dataclasses import dataclass, field

#: What stands where there is nothing to say.
NONE = "\N{EN DASH}"


@dataclass(frozen=True, slots=True)
class Trouble:
    """What is wrong, and what to do."""

    sentence: str
    todo: str


@dataclass(slots=True)
class Part:
    """One part of the installation. `facts` are names with values; `failing` says why it could not be read."""

    name: str
    icon: str
    facts: list[tuple[str, str]] = field(default_factory=list)
    table: list[tuple[str, ...]] = field(default_factory=list)
    head: tuple[str, ...] = ()
    troubles: list[Trouble] = field(default_factory=list)
    note: str = ""
    failing: str = ""

    @property
    def rows(self) -> list[tuple[str, list[tuple[str, str]]]]:
        """The table's rows: the first cell, and each other with the head of its column."""
        return [(row[0], list(zip(self.head[1:], row[1:], strict=True))) for row in self.table]

    @property
    def state(self) -> str:
        """The word of its badge."""
        return "failing" if self.failing else "attention" if self.troubles else "resolved"

    @property
    def word(self) -> str:
        """What the badge says."""
        return {"failing": "Can't be read", "attention": "Needs a look"}.get(self.state, "In order")
