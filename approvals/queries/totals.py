"""What a search has found in sum: how many, by state, and per currency what was moved, undone and in doubt.

Of what the summary knows, all of it; else so many as are counted, the newest, and the page says so. Currencies are
never added to each other, and undos move money back: they are counted, and not summed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache

from django.db.models import BooleanField, Exists, ExpressionWrapper, Q, QuerySet

from approvals.ledger_query import STATES, UNDONE
from approvals.queries import groups, pages, tallies
from approvals.queries.groups import Likeness, Wanted
from approvals.queries.searching import Search
from approvals.queries.tallies import Tally
from durable.models import Effect
from durable.states import UNSETTLED, EffectState

_DOUBTS = {state.value for state in UNSETTLED}


@dataclass(slots=True)
class Money:
    """What moved in one currency, in minor units: `applied` by `count` effects, of it `undone`; `doubt` may have."""

    currency: str
    applied: int = 0
    undone: int = 0
    doubt: int = 0
    count: int = 0


@dataclass(frozen=True, slots=True)
class Totals:
    """`number` effects were found; `by_state` counts them all, whatever states are asked for, None where unknown.

    `whole`: the sums leave nothing out. Else they are over the newest `pages.COUNTED`.
    """

    number: int
    sums: list[Money]
    by_state: dict[str, int] | None
    whole: bool = True

    @property
    def every(self) -> int | None:
        """How many there are in all states; None where that is unknown."""
        if self.by_state is None:
            return None
        return sum(number for word, number in self.by_state.items() if word != UNDONE)


def of(search: Search, newest: Sequence[Found] | None = None) -> Totals:
    """Sum up what a search finds; `newest` are its newest (`newest_of`), where the summary does not know it."""
    if search.problems:
        return Totals(0, [], dict.fromkeys((*STATES, UNDONE), 0))
    if not search.summed:
        return _counted(search, newest_of(search.found) if newest is None else newest)
    assert search.standing.blocks is not None
    some = replace(search.wanted, states=())
    alike = [group for group in search.groups if some.fits(group.like)]
    found = tallies.tally(alike, search.standing.blocks, search.bounds)
    return _summed(search.wanted, [tally for tally in found if some.fits(tally.like)])


def _summed(wanted: Wanted, found: Sequence[Tally]) -> Totals:
    by_state = dict.fromkeys((*STATES, UNDONE), 0)
    words = {state.value: word for word, state in STATES.items()}
    meant = [tally for tally in found if wanted.fits(tally.like)]
    for tally in found:
        by_state[words[tally.like.state]] += tally.number
        by_state[UNDONE] += tally.number if tally.like.undone else 0
    return Totals(_number(meant), sums_of(meant), by_state)


def sums_of(found: Iterable[Tally]) -> list[Money]:
    """What effects moved, by currency."""
    sums: dict[str, Money] = {}
    for tally in found:
        _add(sums, tally)
    return [sums[currency] for currency in sorted(sums)]


def _add(sums: dict[str, Money], tally: Tally) -> None:
    like = tally.like
    moves = like.state == EffectState.APPLIED or like.state in _DOUBTS
    if like.undo or not like.currency or not moves or not tally.number:
        return
    money = sums.setdefault(like.currency, Money(like.currency))
    if like.state in _DOUBTS:
        money.doubt += tally.minor
        return
    money.applied += tally.minor
    money.undone += tally.minor if like.undone else 0
    money.count += tally.number


@dataclass(frozen=True, slots=True)
class Found:
    """An effect that was found, with what sums are about; `minor` is its amount in minor units, 0 without one."""

    pk: int
    like: Likeness
    minor: int


def newest_of(found: QuerySet[Effect]) -> list[Found]:
    """The newest effects of a list, one more than are counted or than a page shows. They are read once: list, count and
    sums are all made of this.
    """
    undo = ExpressionWrapper(Q(undo_of__isnull=False), output_field=BooleanField())
    columns = ("pk", "currency", "state", undo, Exists(groups.applied_undos()), "amount_minor")
    rows = found.order_by("-pk").values_list(*columns)[: max(pages.COUNTED, pages.PAGE) + 1]
    return [Found(pk, _like(*like), minor or 0) for pk, *like, minor in rows]


@cache
def _like(currency: str, state: str, undo: bool, undone: bool) -> Likeness:
    return Likeness("", "", "", currency, state, undo, undone, "", ())


def _counted(search: Search, found: Sequence[Found]) -> Totals:
    """Count the effects themselves; the newest, where there are many."""
    asked, some = Wanted(states=search.wanted.states), replace(search.wanted, states=())
    every = newest_of(search.base.filter(some.q())) if asked.states else found
    if len(every) <= pages.COUNTED:
        return _summed(asked, _tallied(every))
    if len(found) > pages.COUNTED:
        return Totals(len(found), _summed(asked, _tallied(found[: pages.COUNTED])).sums, None, whole=False)
    return replace(_summed(asked, _tallied(found)), by_state=None)


def _number(found: Iterable[Tally]) -> int:
    return sum(tally.number for tally in found)


def _tallied(found: Iterable[Found]) -> list[Tally]:
    """Effects put together by what sums are about."""
    number: Counter[Likeness] = Counter()
    minor: Counter[Likeness] = Counter()
    for one in found:
        number[one.like] += 1
        minor[one.like] += one.minor
    return [Tally(0, like, number[like], minor[like]) for like in number]
