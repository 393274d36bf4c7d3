"""The kinds of fault: how each begins, how long it lasts, how it ends. What it struck is counted by who holds what.

Numbers in brackets are those of the fault catalogue.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from proof.chaos.world import LEASE, POSTS, WORKERS, World

#: Seconds that a clock is off.
HOUR = 3600
#: Longer than a send may take inside the lease of this world: the call is cut before the vendor lets go.
HANG = LEASE * 0.8 + 1.0
#: Shorter than the tools say that a request may be in flight.
LATE = 2.0
#: Of the exchange alone, by its amounts: the refund desk's tool says that 500s are settled after a minute.
_EXCHANGE = "'amount': '1250'"


@dataclass
class Target:
    """What a fault is aimed at: a part, and one process of it."""

    part: str = ""
    pid: int = 0


@dataclass(frozen=True)
class Kind:
    """One kind of fault. `lasts` is in seconds; `aims` names parts of which one that is in mid-effect is chosen.

    `fault` is what the vendor is told to do: then what it met is counted among its requests.
    """

    name: str
    strike: Callable[[World, Target], None]
    heal: Callable[[World, Target], None]
    lasts: float = 1.0
    aims: tuple[str, ...] = ()
    child: bool = False
    fault: str = ""
    skewed: bool = False


def _nothing(world: World, target: Target) -> None:
    """It is whole by itself."""


def _restarted(part: str) -> Kind:
    """A part is killed with all that it has forked, and started again."""
    return Kind(
        f"{part} killed",
        lambda world, target: world.kill(part),
        lambda world, target: world.start(part),
    )


def _kill_child(world: World, target: Target) -> None:
    assert target.pid > 1, "no process to kill"
    with contextlib.suppress(ProcessLookupError):
        os.kill(target.pid, signal.SIGKILL)


def _signal(number: int) -> Callable[[World, Target], None]:
    def act(world: World, target: Target) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(world.children[target.part].pid, number)

    return act


def _skewed(name: str, by: int) -> Kind:
    """A worker is killed and started again with a clock that is off; the sweeper too, so that nobody is right."""

    def strike(world: World, target: Target) -> None:
        for part in (target.part, "sweeper"):
            world.restart(part, by)

    def heal(world: World, target: Target) -> None:
        for part in (target.part, "sweeper"):
            world.restart(part)

    return Kind(f"{name} (F19)", strike, heal, lasts=3.0, aims=WORKERS, skewed=True)


def _vendor(name: str, fault: str, lasts: float = 2.5, **rule: Any) -> Kind:
    """The vendor does something to each request that matches, for as long as the fault lasts."""
    rule = {"kind": fault, "method": "POST", "times": 0, **rule}
    paths = [rule.pop("path")] if "path" in rule else list(POSTS)
    rules = [{**rule, "path": path} for path in paths]
    if rule["method"] == "GET":  # without lost answers nothing is looked up
        rules += [{"kind": "drop", "method": "POST", "times": 0, "path": path} for path in paths]

    def strike(world: World, target: Target) -> None:
        world.behave(*rules)

    return Kind(f"vendor: {name}", strike, lambda world, target: world.behave(), lasts, fault=fault)


KINDS: tuple[Kind, ...] = (
    Kind(
        "worker killed (F1)",
        lambda world, target: world.kill(target.part),
        lambda world, target: world.start(target.part),
        aims=WORKERS,
    ),
    Kind(
        "worker told to end (F4)",
        lambda world, target: world.end(target.part),
        lambda world, target: world.start(target.part),
        aims=WORKERS,
    ),
    Kind("pool child killed (F3)", _kill_child, _nothing, aims=WORKERS, child=True),
    Kind(
        "worker stopped beyond its lease (F17)",
        _signal(signal.SIGSTOP),
        _signal(signal.SIGCONT),
        LEASE + 1.5,
        WORKERS,
    ),
    _restarted("web"),
    _restarted("beat"),
    _restarted("sweeper"),
    Kind(
        "broker killed (F13)",
        lambda world, target: world.kill_broker(),
        lambda world, target: world.services.broker.start(),
        lasts=3.0,
    ),
    Kind("broker emptied (F13)", lambda world, target: world.empty_broker(), _nothing),
    Kind("broker repeats and shuffles (F15, F16)", lambda world, target: world.repeat_messages(), _nothing),
    Kind(
        "database killed (F5)",
        lambda world, target: world.kill_database(),
        lambda world, target: world.services.postgres.start(),
    ),
    Kind(
        "database stopped (F8)",
        lambda world, target: world.signal_database(signal.SIGSTOP),
        lambda world, target: world.signal_database(signal.SIGCONT),
        lasts=2.5,
    ),
    Kind(
        "vendor killed",
        lambda world, target: world.kill_vendor(),
        lambda world, target: world.start_vendor(),
    ),
    _vendor("acts and drops the answer (F21)", "drop"),
    _vendor("hangs (F21)", "hang", acts=True, seconds=HANG, lasts=3.5),
    _vendor("late (F22)", "late", seconds=LATE),
    _vendor("429 (F25)", "status", status=429, code="rate_limit", retry_after=1),
    _vendor("500 saved (F26)", "error", acts=False, saved=True, path="/v1/refunds", contains=_EXCHANGE),
    _vendor("500 not saved (F26)", "error", acts=True, saved=False),
    _vendor("garbage (F29)", "garbage", form="other_amount"),
    _vendor("look-up lags (F28)", "lag", method="GET", seconds=1.5),
    _vendor("look-up fails (F28)", "status", method="GET", status=503),
    _skewed("clock an hour ahead", HOUR),
    _skewed("clock an hour behind", -HOUR),
)


def named(*beginnings: str) -> tuple[Kind, ...]:
    """The kinds whose names begin so. Raises ValueError for one that there is not."""
    found = []
    for beginning in beginnings:
        kinds = [kind for kind in KINDS if kind.name.startswith(beginning)]
        if not kinds:
            raise ValueError(f"no kind of fault begins with {beginning!r}")
        found += kinds
    return tuple(found)


def shuffled(kinds: tuple[Kind, ...], chance: random.Random) -> list[Kind]:
    """All of them, in an order by chance."""
    return chance.sample(kinds, len(kinds))
