"""A schedule: which vendor, where each process dies, what the vendor does wrong, what people do. And its text."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from proof.schedules.classes import AT_ONCE, CLASSES, LIAR, VendorClass

MOST_DEATHS = 4
#: What a run of each kind does, in the order of the book. Those that begin with the first act are undone in the end.
ERRANDS = {"whole": ("first", "second"), "undone": ("first",), "gated": ("second",)}
#: One that goes a long way round: it waits for a word, thinks, stumbles, and acts with leave that rests on a fact.
WINDING = "winding"
ACTS = {**ERRANDS, WINDING: ("second",)}
#: What a vendor may do without breaking its word, and the fields that a rule of the stand-in takes for it.
MISDEEDS: tuple[dict[str, Any], ...] = (
    {"kind": "drop"},
    {"kind": "reset"},
    {"kind": "late", "seconds": 4},
    {"kind": "slow", "seconds": 0.02},
    {"kind": "hang", "seconds": 0.02},
    {"kind": "hang", "seconds": 0.02, "acts": True},
    {"kind": "status", "status": 503},
    {"kind": "status", "status": 409},
    {"kind": "status", "status": 429, "retry_after": 2},
    {"kind": "error", "acts": False, "saved": False},
    {"kind": "error", "acts": False, "saved": True},
    {"kind": "error", "acts": True, "saved": True},
    {"kind": "garbage", "form": "html"},
    {"kind": "garbage", "form": "cut"},
    {"kind": "garbage", "form": "empty"},
    {"kind": "garbage", "form": "list"},
    {"kind": "garbage", "form": "other_amount"},
    {"kind": "redirect"},
    {"kind": "trickle", "seconds": 0.02},
)
#: And what one may do that honours no keys: with keys, to act and to keep nothing under the key breaks its word.
UNKEYED = ({"kind": "error", "acts": True, "saved": False},)
REVIEWS = ("yes", "yes", "yes", "no", "edit")
COMMANDS = ("hold", "cancel", "cancel and undo")


@dataclass(frozen=True)
class Schedule:
    """One course of events. `deaths` names for each process but the last which of the points that it passes, counted
    from 1, is its end; one that passes fewer lives on. `outages` are the seconds until the next process looks.
    `faults` are the vendor's, `commands` an operator's before the n-th act, `reviewer` the reviewer's part, of
    `REVIEWS`.
    """

    cls: str
    errand: str = "whole"
    deaths: tuple[int, ...] = ()
    outages: tuple[float, ...] = ()
    faults: tuple[dict[str, Any], ...] = ()
    commands: tuple[tuple[int, str], ...] = ()
    reviewer: str = "yes"
    sweeps: bool = False
    new_code: bool = False
    name: str = ""

    @property
    def vendor(self) -> VendorClass:
        return LIAR if self.cls == LIAR.name else CLASSES[self.cls]

    def outage(self, death: int) -> float:
        """The seconds that pass after the `death`-th death (from 0)."""
        return self.outages[death] if death < len(self.outages) else self.vendor.outage

    def __str__(self) -> str:
        """How a report names it, and `--case` takes it."""
        said = [self.cls, self.errand, *(f"dies at {place}" for place in self.deaths)]
        return f"{self.name or 'schedule'} ({', '.join(said)})"


#: Turns that a course may take, so that the points on the ways out of trouble are enumerated too.
TURNS: Mapping[str, Schedule] = MappingProxyType(
    {
        "": Schedule(""),
        "dropped": Schedule("", faults=({"kind": "drop", "method": "POST", "times": 0},)),
        "lost": Schedule("", faults=({"kind": "hang", "method": "POST", "seconds": 0.01},)),
        "refused": Schedule("", reviewer="no"),
        "edited": Schedule("", reviewer="edit"),
        "held": Schedule("", commands=((3, "hold"),)),
        "cancelled": Schedule("", commands=((3, "cancel and undo"),)),
    }
)


def at(cls: str, errand: str, *deaths: int, turn: str = "") -> Schedule:
    """An enumerated schedule: processes that die at these points, in a course that has taken a `turn` or none."""
    name = "-".join([cls, errand, *([turn] if turn else []), *map(str, deaths)])
    new_code = cls in CLASSES and CLASSES[cls].new_code
    return replace(TURNS[turn], cls=cls, errand=errand, deaths=deaths, new_code=new_code, name=name)


def drawn(seed: int, number: int, longest: int = 60) -> Schedule:
    """The `number`-th random schedule of a seed: the same for the same numbers, always."""
    dice = random.Random(f"{seed}:{number}")
    cls = list(CLASSES)[number % len(CLASSES)]
    deaths = [1 + int(longest * dice.random() ** 1.5) for _ in range(dice.randint(0, MOST_DEATHS))]
    outages = [dice.choice((AT_ONCE, AT_ONCE, 90.0, 480.0, 960.0, 90_000.0)) for _ in deaths]
    faults = [_misdeed(dice, CLASSES[cls]) for _ in range(dice.choice((0, 0, 1, 1, 2, 3)))]
    commands = [(dice.randint(1, 9), dice.choice(COMMANDS))] if dice.random() < 0.3 else []
    return Schedule(
        cls,
        dice.choice(list(ERRANDS)),
        tuple(deaths),
        tuple(outages),
        tuple(faults),
        tuple(commands),
        reviewer=dice.choice(REVIEWS),
        sweeps=dice.random() < 0.5,
        new_code=CLASSES[cls].new_code and dice.random() < 0.5,
        name=f"{seed}:{number}",
    )


def _misdeed(dice: random.Random, vendor: VendorClass) -> dict[str, Any]:
    """One fault of the vendor: at an act, or, one time in four, at a look-up."""
    if dice.random() < 0.25:
        kind: dict[str, Any] = dice.choice(
            ({"kind": "drop"}, {"kind": "status", "status": 503}, {"kind": "garbage", "form": "html"})
        )
        return {**kind, "method": "GET", "after": dice.randint(0, 2)}
    return {
        **dice.choice(MISDEEDS if vendor.money else (*MISDEEDS, *UNKEYED)),
        "method": "POST",
        "after": dice.randint(0, 3),
    }


def named(name: str) -> Schedule:
    """The schedule of a report's name: `K-whole-12-3`, `U-undone-lost-7`, or `7:123` for a random one of seed 7."""
    if ":" in name:
        seed, number = name.split(":")
        return drawn(int(seed), int(number))
    cls, errand, *rest = name.split("-")
    turn = rest.pop(0) if rest and not rest[0].isdigit() else ""
    return at(cls, errand, *map(int, rest), turn=turn)
