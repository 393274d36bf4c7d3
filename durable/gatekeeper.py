"""The door to the console: who must say yes to an effect, and whether that yes still holds.

The engine never imports the console. It reaches it by the dotted path in `settings.INTERLOCK_GATEKEEPER`; this module
holds the interface that stands behind that path.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache
from typing import Any, Protocol

from django.conf import settings
from django.utils.module_loading import import_string

from durable.models import Effect, Wait


@dataclass(frozen=True, slots=True)
class Question:
    """An effect as a policy sees it, before it is recorded. Amount in minor units.

    `step`, `visit` and `ordinal` are its place in the run: what is recorded there already is this very effect.
    """

    run_ref: str
    agent: str
    requester: str
    tool: str
    effect_class: str
    amount_minor: int | None
    currency: str
    subjects: Mapping[str, str]
    args: Mapping[str, Any]
    step: str
    visit: int
    ordinal: int


@dataclass(frozen=True, slots=True)
class Requirement:
    """An effect must wait for people: why, how long they may decide, how long their yes then holds."""

    reason: str
    decide_within: timedelta
    act_within: timedelta


class Gatekeeper(Protocol):
    """What the engine asks of the console.

    Every method but the first two runs inside the engine's transaction, under the run's lock. What `requirement` reads
    of the asking run changes under its claim alone.
    """

    def requirement(self, question: Question) -> Requirement | None:
        """Return what policy demands beyond the effect's class, or None. An error in a rule must demand a gate."""

    def for_class(self, question: Question, reason: str) -> Requirement:
        """Return the clocks of a gate that the engine itself demands, for `reason`."""

    def open(self, wait: Wait, effect: Effect, requirement: Requirement) -> None:
        """Open the gate of the effect's current round, shown to people from now on."""

    def may_release(self, effect: Effect) -> str | None:
        """Return None where an approval of the current round holds, and is unused or was used by this very effect,
        else why not, in words. A pending effect that nobody approved (`approved_round` is None) needs policy's
        leave alone.
        """

    def used(self, effect: Effect) -> None:
        """The approval of the current round has let its effect out; it lets nothing else out."""

    def close(self, effect: Effect, how: str) -> None:
        """The gate of the current round is over without an answer: `expired`, `withdrawn` or `superseded`."""


@lru_cache(maxsize=1)
def gatekeeper() -> Gatekeeper:
    """Return the console's gatekeeper.

    Raises ImportError where the setting names nothing: without it nothing could ever be approved.
    """
    keeper: Gatekeeper = import_string(settings.INTERLOCK_GATEKEEPER)()
    return keeper
