"""Effects by what there are few of: tool, vendor, agent, currency, state, reason, and who decided.

The groups that there are (`durable.summary`) are read whole; which of them a query means is found out here. What is
meant is said twice, of a group and of single effects: both must mean the same.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from django.db.models import Exists, OuterRef, Q

from approvals.ledger_query import (
    AGENT,
    CURRENCY,
    DECIDED_BY,
    NONE,
    REASON,
    STATES,
    TOOL,
    UNDO,
    UNDONE,
    VENDOR,
    YES,
    LedgerQuery,
)
from approvals.queries import words
from durable.models import Effect, EffectGroup, LedgerEvent
from durable.states import EffectState
from durable.summary import DECIDES, LIKENESS
from durable.tools import all_tools


@dataclass(frozen=True, slots=True)
class Likeness:
    """What the effects of a group have in common."""

    tool: str
    vendor: str
    agent: str
    currency: str
    state: str
    undo: bool
    undone: bool
    reason: str
    deciders: tuple[str, ...]

    @classmethod
    def of(cls, values: Sequence[Any]) -> Likeness:
        """From a row of the database, in the order of `LIKENESS`."""
        tool, vendor, agent, currency, state, undo, undone, reason, deciders = values
        return cls(tool, vendor, agent, currency, state, undo, undone, reason, tuple(deciders))


@dataclass(frozen=True, slots=True)
class Group:
    """A group as the summary has it: its number, what its effects have in common, how many they are, their sum."""

    id: int
    like: Likeness
    number: int
    minor: int


def all_groups() -> list[Group]:
    """All groups there are; one query."""
    rows = EffectGroup.objects.order_by("id").values_list("id", *LIKENESS, "number", "minor")
    return [Group(row[0], Likeness.of(row[1:-2]), row[-2], int(row[-1])) for row in rows]


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which effects are meant: the values that each part of the likeness may have, or None where all may be.

    An empty text among them means effects without: without a reason, or decided by nobody.
    """

    tool: frozenset[str] | None = None
    vendor: frozenset[str] | None = None
    agent: frozenset[str] | None = None
    currency: frozenset[str] | None = None
    reason: frozenset[str] | None = None
    deciders: frozenset[str] | None = None
    states: tuple[str, ...] = ()
    undo: bool | None = None

    def fits(self, like: Likeness) -> bool:
        """Whether effects that have this in common are meant."""
        plain = (
            (self.tool, like.tool),
            (self.vendor, like.vendor),
            (self.agent, like.agent),
            (self.currency, like.currency),
            (self.reason, like.reason),
        )
        return (
            all(wanted is None or value in wanted for wanted, value in plain)
            and (self.deciders is None or not self.deciders.isdisjoint(like.deciders or ("",)))
            and (self.undo is None or self.undo is like.undo)
            and (not self.states or any(_stands(word, like) for word in self.states))
        )

    def q(self) -> Q:
        """The same, of single effects."""
        found = Q()
        for column, wanted in (
            ("tool", self.tool),
            ("vendor", self.vendor),
            ("run__agent", self.agent),
            ("currency", self.currency),
            ("reason", self.reason),
        ):
            if wanted is not None:
                found &= Q(**{f"{column}__in": sorted(wanted)})
        if self.deciders is not None:
            nobody = ~Q(Exists(_decisions())) if "" in self.deciders else Q(pk__in=[])
            found &= Q(Exists(_decisions().filter(actor__in=sorted(self.deciders)))) | nobody
        if self.undo is not None:
            found &= Q(undo_of__isnull=not self.undo)
        if self.states:
            states = [STATES[word].value for word in self.states if word != UNDONE]
            some = Q(state__in=states) if states else Q()
            found &= some | Q(Exists(applied_undos())) if UNDONE in self.states else some
        return found


def _stands(word: str, like: Likeness) -> bool:
    return like.undone if word == UNDONE else like.state == STATES[word]


def _decisions() -> Any:
    told = LedgerEvent.objects.filter(effect_key=OuterRef("key"), kind__in=[kind.value for kind in DECIDES])
    return told.exclude(effect_key="")


def applied_undos() -> Any:
    """The undos of an effect (`OuterRef("pk")`) that were applied."""
    return Effect.objects.filter(undo_of=OuterRef("pk"), state=EffectState.APPLIED.value)


def wanted(query: LedgerQuery, groups: Iterable[Group]) -> Wanted:
    """What a query means by its words: a name there is, whatever its capitals, else the names that begin so.

    A word that means nothing known is taken as it is: there may be effects newer than any group.
    """
    known = _known([group.like for group in groups])
    found = {
        field: _named(known[field], query[key])
        for field, key in (("tool", TOOL), ("agent", AGENT), ("currency", CURRENCY), ("reason", REASON))
    }
    vendors = {name: name for name in known["vendor"]} | {
        words.vendor(name): name for name in known["vendor"]
    }
    return Wanted(
        tool=found["tool"],
        agent=found["agent"],
        currency=found["currency"],
        reason=found["reason"],
        vendor=_called(vendors, query[VENDOR]),
        deciders=_called(_people(known["deciders"]), query[DECIDED_BY]) if query[DECIDED_BY] else None,
        states=query.states,
        undo=query[UNDO] == YES if query[UNDO] else None,
    )


def _known(likes: Iterable[Likeness]) -> dict[str, set[str]]:
    """All values of each part of the likenesses; and of tools that nobody has called yet."""
    known: dict[str, set[str]] = {
        name: set() for name in ("tool", "vendor", "agent", "currency", "reason", "deciders")
    }
    for like in likes:
        for name in ("tool", "vendor", "agent", "currency", "reason"):
            known[name].add(getattr(like, name))
        known["deciders"] |= set(like.deciders)
    for tool in all_tools():
        if not tool.facts.reads:
            known["tool"].add(tool.name)
            known["vendor"].add(tool.facts.vendor)
    return {name: values - {""} for name, values in known.items()}


def known(groups: Iterable[Group]) -> dict[str, list[str]]:
    """The words that a query can be completed with, by key; people by what they are called."""
    found = _known([group.like for group in groups])
    named = {TOOL: "tool", VENDOR: "vendor", AGENT: "agent", CURRENCY: "currency", REASON: "reason"}
    shown = {key: sorted(found[field]) for key, field in named.items()}
    return shown | {DECIDED_BY: sorted(found["deciders"])}


def _people(usernames: Collection[str]) -> dict[str, str]:
    """Usernames by themselves and by the people's full names."""
    found = {name: name for name in usernames}
    for person in User.objects.filter(username__in=sorted(usernames)):
        found[person.get_full_name() or person.username] = person.username
    return found


def _named(names: Iterable[str], text: str) -> frozenset[str] | None:
    return _called({name: name for name in names}, text)


def _called(names: dict[str, str], text: str) -> frozenset[str] | None:
    """Those that are called so, else those that begin so, else the text itself; None for no text."""
    if not text:
        return None
    if text.casefold() == NONE:
        return frozenset({""})
    folded = text.casefold()
    exact = {name for shown, name in names.items() if shown.casefold() == folded}
    begin = {name for shown, name in names.items() if shown.casefold().startswith(folded)}
    return frozenset(exact or begin or {text})
