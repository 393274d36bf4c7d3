"""Which accounts of which vendors can be held against the ledger: those of which a tool that moves money can list what
was done.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta

from durable.errors import Invalid
from durable.tools import Tool, all_tools


@dataclass(frozen=True, slots=True)
class Account:
    """One account at one vendor, with the tools that move money in it and can list it, by name."""

    vendor: str
    account: str
    tools: tuple[Tool, ...]

    @property
    def name(self) -> str:
        """What people call it."""
        return named(self.vendor, self.account)

    @property
    def settles(self) -> timedelta:
        """How long after an act its vendor's list may not show it yet, at most."""
        return max(one.facts.send_within + one.facts.in_flight + one.facts.lookup_lag for one in self.tools)


def named(vendor: str, account: str) -> str:
    """What people call an account."""
    return f"{vendor}, {account}" if account else vendor


def covered() -> list[Account]:
    """Every account that can be listed, by name, as far as the agents' modules have been imported."""
    found: dict[tuple[str, str], list[Tool]] = {}
    for tool in _moving_money():
        if tool.statement_function is not None:
            found.setdefault((tool.facts.vendor, tool.facts.account), []).append(tool)
    return [Account(*place, tuple(tools)) for place, tools in sorted(found.items())]


def uncovered() -> list[Tool]:
    """The tools that move money and can't list what was done: nothing that goes past them is found."""
    return [tool for tool in _moving_money() if tool.statement_function is None]


def account(vendor: str, name: str = "") -> Account:
    """Return one account. Raises Invalid where no tool lists it, naming those that there are."""
    accounts = covered()
    for one in accounts:
        if (one.vendor, one.account) == (vendor, name):
            return one
    known = "; ".join(one.name for one in accounts) or "none"
    raise Invalid("vendor", f"must be one whose account a tool can list: {known}")


def _moving_money() -> Iterable[Tool]:
    return [tool for tool in all_tools() if tool.facts.money is not None]
