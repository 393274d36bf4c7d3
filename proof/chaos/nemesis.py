"""The nemesis: one fault after the other, in an order by the seed, each aimed at somebody who is in mid-effect."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from local.vendor import VendorAway
from proof.chaos.kinds import Kind, Target, shuffled
from proof.chaos.sight import Onlooker, Sight
from proof.chaos.world import World
from proof.report import Say

#: Seconds for which a fault waits for somebody in mid-effect before it strikes all the same.
_AIM = 8.0
#: Seconds within which a worker with a clock that is off must have come up and sent something.
_SKEWED = 60.0
#: Seconds more that a busy machine gets for the first round.
_PATIENCE = 120.0
#: Seconds between the end of a fault and the next.
_CALM = 1.0


@dataclass
class Strike:
    """One fault that struck: how many runs were claimed, and how many had a request out, by those whom it hit."""

    kind: str
    claimed: int
    sent: int


@dataclass
class Nemesis:
    """Breaks a world for a while. `strikes` says what it did."""

    world: World
    eyes: Onlooker
    chance: random.Random
    say: Say
    strikes: list[Strike] = field(default_factory=list)

    def rage(self, kinds: tuple[Kind, ...], seconds: float) -> None:
        """Strike for `seconds`, and at least once with each kind, but not three times as long and two minutes more."""
        began = time.monotonic()
        for round, kind in self._order(kinds):
            passed = time.monotonic() - began
            if passed > seconds * 3 + _PATIENCE or (passed > seconds and round > 0):
                return
            self._once(kind)
            self._for(_CALM, lambda: False)

    def _order(self, kinds: tuple[Kind, ...]) -> Iterator[tuple[int, Kind]]:
        round = 0
        while True:
            for kind in shuffled(kinds, self.chance):
                yield round, kind
            round += 1

    def _once(self, kind: Kind) -> None:
        target, sight = self._aim(kind)
        before = self._requests(kind)
        kind.strike(self.world, target)
        # Nobody looks meanwhile: a database that is stopped would not let go of who asks it.
        time.sleep(kind.lasts)
        claimed, sent = len(sight.claimed), len(sight.sent)
        if kind.fault:
            sent = self._met(kind, before)
        if kind.skewed:
            claimed, sent = self._acted(target)
        kind.heal(self.world, target)
        self.strikes.append(Strike(kind.name, claimed, sent))
        self.say(f"  {kind.name}: {claimed} claimed, {sent} sent and unanswered")

    def _aim(self, kind: Kind) -> tuple[Target, Sight]:
        """Wait until somebody who can be struck is in mid-effect. Returns whom to strike, and what they hold."""
        target, held = self._choose(kind, Sight())

        def found() -> bool:
            nonlocal target, held
            now = self.eyes.look()
            if now is not None:
                target, held = self._choose(kind, now)
            return bool(held.sent)

        self._for(_AIM, found)
        return target, held

    def _choose(self, kind: Kind, now: Sight) -> tuple[Target, Sight]:
        """The best target there is now: one with a request out, else one that has claimed something, else any."""
        if not kind.aims:
            return Target(), now
        parts = self.chance.sample(kind.aims, len(kind.aims))
        held = {part: now.of(self.world.pids(part)) for part in parts}
        best = max(parts, key=lambda part: (len(held[part].sent) > 0, len(held[part].claimed)))
        found = held[best]
        pid = next((pid for _, pid in (*found.sent, *found.claimed)), 0) or self._any_child(best)
        return Target(best, pid), found.of({pid}) if kind.child else found

    def _any_child(self, part: str) -> int:
        return max(self.world.pids(part) - {self.world.children[part].pid}, default=0)

    def _for(self, seconds: float, ready: Callable[[], bool]) -> None:
        """Let time pass, looking at the chains meanwhile, until `ready`."""
        end, glance = time.monotonic() + seconds, 0.0
        while not ready() and time.monotonic() < end:
            if time.monotonic() - glance > 1.0:
                self.eyes.remember()
                glance = time.monotonic()
            time.sleep(0.05)

    def _acted(self, target: Target) -> tuple[int, int]:
        """Wait until a worker that has just started has sent something. Returns how many runs it took, and what it
        sent.
        """
        done = 0, 0

        def some() -> bool:
            nonlocal done
            done = self.eyes.done_by(self.world.pids(target.part))
            return done[1] > 0

        self._for(_SKEWED, some)
        return done

    def _requests(self, kind: Kind) -> int:
        return len(self.world.vendor.requests()) if kind.fault else 0

    def _met(self, kind: Kind, before: int) -> int:
        """How many requests have met the fault since."""
        try:
            return sum(one["fault"] == kind.fault for one in self.world.vendor.requests()[before:])
        except VendorAway:
            return 0
