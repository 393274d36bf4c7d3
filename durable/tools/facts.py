"""What a tool declares about itself and its vendor. The class of its effects follows from this, and is never set."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from types import MappingProxyType

from durable.states import EffectClass

_NONE = timedelta(0)
_NO_SUBJECTS: Mapping[str, str] = MappingProxyType({})


class Misdeclared(TypeError):
    """A tool's declaration contradicts itself or its function; raised when its module is imported."""


@dataclass(frozen=True, slots=True)
class Facts:
    """Facts as declared; each name means what `tool` says of it."""

    reads: bool = False
    idempotent_for: timedelta | None = None
    vendor: str = ""
    account: str = ""
    version: int = 1
    money: str | None = None
    currency: str | None = None
    subjects: Mapping[str, str] = field(default_factory=lambda: _NO_SUBJECTS)
    secret: tuple[str, ...] = ()
    once_per: tuple[str, ...] = ()
    reason: str | None = None
    lookup_lag: timedelta = _NONE
    in_flight: timedelta = timedelta(seconds=60)
    send_within: timedelta = timedelta(seconds=10)
    freshness: timedelta | None = None
    target: str | None = None

    def faults(self) -> Iterator[str]:
        """What is wrong with the facts by themselves, one sentence each."""
        if self.version < 1:
            yield "version must be 1 or more"
        if self.idempotent_for is not None and self.idempotent_for <= self.send_within:
            yield "idempotent_for is how long the vendor honours a key, and must be longer than send_within"
        if self.currency is not None and self.money is None:
            yield "currency without money says nothing; declare money too"
        if self.send_within <= _NONE or self.in_flight < _NONE or self.lookup_lag < _NONE:
            yield "send_within must be above 0, in_flight and lookup_lag not below 0"
        if self.freshness is not None and (not self.reads or self.freshness <= _NONE):
            yield "freshness is for tools that read, and must be above 0"
        if self.reads:
            for name in ("idempotent_for", "money", "once_per", "reason", "lookup_lag", "target"):
                if getattr(self, name):
                    yield f"a tool that reads cannot declare {name}: it has no effect"

    def arguments(self) -> Iterator[tuple[str, str]]:
        """Each fact that names an argument, with that name."""
        for fact in ("money", "currency", "reason", "target"):
            name = getattr(self, fact)
            if name is not None:
                yield fact, name
        yield from (("subject", name) for name in self.subjects.values())
        yield from (("secret", name) for name in self.secret)
        yield from (("once_per", name) for name in self.once_per)


def classify(facts: Facts, undo: str | None) -> EffectClass:
    """The class that follows from the facts and the name of the undo, if there is one. The only rule there is."""
    if facts.reads:
        return EffectClass.READ
    if facts.idempotent_for is not None:
        return EffectClass.IDEMPOTENT
    return EffectClass.COMPENSABLE if undo is not None else EffectClass.IRREVERSIBLE


def replayed_safely(facts: Facts) -> str:
    """The answer to "can it be replayed safely?"."""
    if facts.reads:
        return "yes: it only reads"
    if facts.idempotent_for is not None:
        return f"yes: the vendor honours a key for {_span(facts.idempotent_for)}"
    return "no"


def can_be_undone(facts: Facts, undo: str | None) -> str:
    """The answer to "can it be undone?"."""
    if facts.reads:
        return "–"  # noqa: RUF001  # a dash, as the classification sheet prints it
    if undo is not None:
        return f"yes: by {undo}"
    return "n/a" if facts.idempotent_for is not None else "no"


def why(facts: Facts, undo: str | None) -> str:
    """One sentence: the facts, and what the engine does because of them."""
    match classify(facts, undo):
        case EffectClass.READ:
            return "It only reads: no ledger, and its result may be frozen."
        case EffectClass.IDEMPOTENT:
            assert facts.idempotent_for is not None
            span = _span(facts.idempotent_for)
            return f"The vendor honours a key for {span}: it is repeated under the same key inside that time."
        case EffectClass.COMPENSABLE:
            return f"It cannot be replayed safely, but {undo} undoes it: it acts once, and the undo joins the saga."
        case EffectClass.IRREVERSIBLE:
            return "It can be neither replayed safely nor undone: people are asked every time."


def _span(span: timedelta) -> str:
    """24 hours, 90 minutes, 5 seconds: in the largest unit that leaves no remainder."""
    for unit, name in ((timedelta(hours=1), "hour"), (timedelta(minutes=1), "minute")):
        if span % unit == _NONE:
            count = span // unit
            return f"{count} {name}" + ("s" if count != 1 else "")
    return f"{span.total_seconds():g} seconds"
