"""Situations with which several tests of the engine begin, on the tools of `tools` and the vendor's stand-in."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from durable import runs
from durable.models import Run
from durable.states import RunState
from tests.engine import desk, people, tools
from tests.vendors import Vendor

#: What a test's operator gives with each command.
WHY: dict[str, Any] = {"actor": "olga", "reason": "I looked"}
FORTY = [Decimal("40.00")]


class Killed(BaseException):
    """In place of a SIGKILL: nothing of the engine runs after it."""


def die(*_: object) -> None:
    """For `faults.arm` and `tools.before`."""
    raise Killed


def key(run: Run, name: str = "pay") -> str:
    """The key of an effect, by its place."""
    return f"{run.ref}:{name}"


def args(vendor: Vendor, amount: str = "40.00") -> dict[str, Any]:
    """Arguments of any of the refunding tools, for a charge of 100."""
    return {"charge": tools.charge(vendor), "amount": Decimal(amount)}


def refund(vendor: Vendor, tool: Any = tools.keyed, amount: str = "40.00") -> Run:
    """A run, not driven yet, that asks for one refund."""
    tools.asks((tool, args(vendor, amount)))
    return tools.start()


def crash_before_the_wire(run: Run, *, nth: int = 1) -> None:
    """The worker dies after the `sent` event of its nth effect, before that request; its lease runs out."""
    calls = []

    def fall(call: Any) -> None:
        calls.append(call.key)
        if len(calls) == nth:
            die()

    tools.before.append(fall)
    with pytest.raises(Killed):
        desk.drive(run)
    tools.before.clear()
    desk.time_passes(minutes=5)


def doubtful(vendor: Vendor, tool: Any = tools.opaque, *, landed: bool = True, quiet: bool = False) -> Run:
    """A run whose refund was sent once and never answered, at a vendor that knows no keys; before a person.

    `landed`: whether the money moved. `quiet`: nothing of the request can still be under way.
    """
    vendor.modes(keys="ignore")
    vendor.fault("drop" if landed else "hang", method="POST", path="/v1/refunds", seconds=0)
    if tool.lookup_function is not None:
        vendor.modes(lookup_lag=10_000)
    run = desk.drive(refund(vendor, tool))
    for _ in range(12):
        if tools.attention(run):
            break
        tools.later(run, seconds=10)
    assert desk.effects(run) == {"pay": "in doubt"}
    if quiet:
        desk.time_passes(minutes=5)
    return run


def sku(name: str, tool: Any = tools.set_aside) -> tuple[Any, dict[str, Any]]:
    """One act at the stock service, for `done`."""
    return tool, {"sku": name}


def done(*wanted: tuple[Any, dict[str, Any]]) -> Run:
    """A completed run that has done all of it, people having let out what needed them."""
    tools.asks(*wanted)
    run = desk.drive(tools.start())
    for _ in wanted:
        if people.gates(run):
            people.say(run)
            desk.drive(run)
    assert run.state == RunState.COMPLETED
    return run


def compensated(run: Run) -> Run:
    """Ask for compensation, and drive it as far as it goes."""
    runs.compensate(run.ref, **WHY)
    return desk.drive(run)


def set_aside(vendor: Vendor) -> list[tuple[str, int]]:
    """What the stock service really moved: what and how many, in order."""
    return [(one["target"], one["metadata"]["quantity"]) for one in vendor.book("stock")]
