"""What a world is made of that never changes: its vendor, its agents' plans, its bounds, and the guard that is off."""

from __future__ import annotations

from dataclasses import dataclass, replace

from proof.model.guards import Guard
from proof.model.world import Luck, Run, Worker, World

#: What a step asks for, what a reviewer makes of it, what a fickle step asks for, what a wrong vendor moves.
AMOUNT, EDITED, FICKLE, WRONG = 40, 30, 50, 99
REVIEWERS = ("Ann", "Ben")


@dataclass(frozen=True, slots=True)
class Vendor:
    """What the vendor does with keys and look-ups; the adapter has declared exactly this."""

    name: str
    keyed: bool = False
    other_body: str = "refuses"  # or ignores, or moves: what another body under a known key meets
    looks: str = ""  # by key, by reference, or not at all
    lags: bool = False
    silent: bool = False  # the look-up may be unable to say


@dataclass(frozen=True, slots=True)
class Case:
    """One world to search: at first every run of `plans` is queued and the ledger is empty."""

    name: str
    vendor: Vendor
    luck: Luck
    plans: tuple[tuple[str, ...], ...] = (("pay",),)
    gated: tuple[str, ...] = ()
    limit: int | None = None
    once: bool = False  # the plans' equal places are one business act
    undo: bool = False  # a cancel may ask for the undoing of what was done
    off: Guard | None = None

    def on(self, guard: Guard) -> bool:
        """Whether a guard stands."""
        return self.off is not guard

    def without(self, guard: Guard) -> Case:
        """The same case with one guard off."""
        return replace(self, off=guard)

    def start(self) -> World:
        """The first world."""
        return World(
            runs=tuple(Run() for _ in self.plans),
            effects=(),
            workers=(Worker(), Worker()),
            luck=self.luck,
            hands=(None,) * len(REVIEWERS) if self.asks else (),
        )

    def plan(self, run: int) -> tuple[str, ...]:
        """The places of a run, in order. A fork follows its parent's plan."""
        return self.plans[min(run, len(self.plans) - 1)]

    @property
    def asks(self) -> bool:
        """Whether reviewers are modelled one by one, with screens that may be out of date."""
        return bool(self.gated)
