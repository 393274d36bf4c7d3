"""The history of what a tool moved: per day, week or month, and by agent, reason and person, each currency for itself.

An effect stands under the day on which it was recorded, whatever became of it later. So each mark is a search: what the
ledger finds behind it is what was summed up in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse

from approvals import days
from approvals.charts import Chart, Column, Piece, draw
from approvals.ledger_query import AGENT, CURRENCY, DECIDED_BY, FROM, NO, NONE, REASON, STATE, TO, TOOL, UNDO
from approvals.queries import actors, groups, periods, tallies, totals, words
from approvals.queries.groups import Wanted
from approvals.queries.periods import Asked, Mark, Period
from approvals.queries.pictures import on_scale, unit
from approvals.queries.tallies import Tally
from approvals.queries.totals import Money
from approvals.typed import slug, written
from durable.models import Effect
from durable.states import EffectState
from durable.tools import all_tools

#: The tool whose history is shown where none is named, if there is one.
REFUND = "refund"
#: Agents, reasons or persons that stand there at once; more open below them.
BARS = 12
_NAMELESS = {REASON: "no reason", AGENT: NONE}
_WAITS = frozenset({EffectState.GATED})
_GONE = frozenset({EffectState.EXPIRED, EffectState.WITHDRAWN})
#: What nobody has decided, by the states that it stands in: each a mark of its own. No person's name begins so.
_UNDECIDED: dict[str, frozenset[EffectState]] = {
    " not decided yet": _WAITS,
    " expired or withdrawn": _GONE,
    " nobody was asked": frozenset(EffectState) - _WAITS - _GONE,
}


def tools(known: Iterable[groups.Group]) -> list[str]:
    """The tools that move money, or have moved some."""
    moved = {group.like.tool for group in known if group.like.currency}
    return sorted(moved | {tool.name for tool in all_tools() if tool.facts.money is not None})


def history(tool: str, asked: Asked, now: datetime) -> dict[str, Any]:
    """What refunds.html shows of a tool (of refunds, where it is empty); no number where `asked` has a problem."""
    span = asked.span
    known, standing = groups.all_groups(), tallies.standing()
    names = tools(known)
    tool = tool or (REFUND if REFUND in names else next(iter(names), ""))
    marks = span.marks(days.today(now), first_day(now))
    found: list[Tally] = []
    if standing.blocks is not None and tool and not asked.problems:
        wanted = Wanted(tool=frozenset({tool}), undo=False)
        alike = [group for group in known if wanted.fits(group.like) and group.like.currency]
        bounds = [days.begins(mark.first) for mark in marks] + [days.begins(days.after(marks[-1].last))]
        tallied = tallies.tally(alike, standing.blocks, bounds)
        found = [one for one in tallied if one.number and one.like.currency and wanted.fits(one.like)]
    people = actors.names(name for one in found for name in one.like.deciders)
    currencies = sorted({one.like.currency for one in found})
    return {
        "tool": tool,
        "tools": names,
        "title": "Refunds" if tool == REFUND else words.act(tool),
        "period": span,
        "periods": periods.PERIODS.values(),
        "first": asked.first,
        "last": asked.last,
        "problems": asked.problems,
        "behind": standing.blocks is None,
        "currencies": [
            _Currency(tool, code, marks, [one for one in found if one.like.currency == code], people).shown(
                span
            )
            for code in currencies
        ],
    }


def first_day(now: datetime) -> date:
    """The day on which the first effect was recorded; today where there is none."""
    first = Effect.objects.order_by("pk").values_list("recorded_at", flat=True).first()
    return days.today(first or now)


@dataclass(frozen=True, slots=True)
class _Currency:
    """What was moved in one currency."""

    tool: str
    code: str
    marks: Sequence[Mark]
    found: Sequence[Tally]
    people: dict[str, str]

    def shown(self, span: Period) -> dict[str, Any]:
        money = _sum(self.code, self.found)
        return {
            "currency": self.code,
            "money": money,
            "number": sum(one.number for one in self.found),
            "href": self._behind(),
            "chart": self._chart(span, money),
            "parts": [
                {"title": title, "name": f"{name}-{self.code}", "rows": rows[:BARS], "more": rows[BARS:]}
                for title, name, rows in (
                    ("By agent", "agent", self._bars(AGENT, lambda one: [one.like.agent])),
                    ("By reason", "reason", self._bars(REASON, lambda one: [one.like.reason or NONE])),
                    ("By who decided", "person", self._bars(DECIDED_BY, _deciders)),
                )
            ],
        }

    def _behind(self, start: str = "", end: str = "", **more: str) -> str:
        """The search behind a number."""
        asked = {TOOL: self.tool, CURRENCY: self.code, UNDO: NO, **more}
        asked |= {FROM: start or self.marks[0].start, TO: end or self.marks[-1].end}
        return f"{reverse('ledger')}?{urlencode({'q': written(asked.items())})}"

    def _chart(self, span: Period, money: Money) -> Chart:
        by_place: dict[int, list[Tally]] = {}
        for one in self.found:
            by_place.setdefault(one.place, []).append(one)
        columns = [
            self._column(place, mark, by_place.get(place, ())) for place, mark in enumerate(self.marks)
        ]
        first, middle, last = self.marks[0], self.marks[len(self.marks) // 2], self.marks[-1]
        size = unit(self.code)
        return draw(
            f"moved-{self.code}",
            f"{words.money(money.applied, self.code)} moved in {span.words} by {money.count:,} effects",
            columns,
            head=("When", "Moved", "Of it undone", "In doubt", "Effects"),
            foot=(first.name, middle.name, last.name),
            scale=lambda minor: on_scale(minor / size),
        )

    def _column(self, place: int, mark: Mark, found: Iterable[Tally]) -> Column:
        some = list(found)
        money, number = _sum(self.code, some), sum(one.number for one in some)
        applied, undone, doubt = (
            words.money(minor, self.code) for minor in (money.applied, money.undone, money.doubt)
        )
        told = f"{mark.name}: {applied} moved"
        told += f", {undone} of it undone" if money.undone else ""
        told += f", {doubt} in doubt" if money.doubt else ""
        pieces = (
            Piece(money.applied - money.undone, "accent"),
            Piece(money.undone, "quiet"),
            Piece(money.doubt, "doubt"),
        )
        row = (mark.name, applied, undone, doubt, f"{number:,}")
        return Column(told, pieces, row, self._behind(mark.start, mark.end) if number else "")

    def _bars(self, key: str, of: Callable[[Tally], Iterable[str]]) -> list[dict[str, Any]]:
        """What was moved by each agent, reason or person: the most first. What two have decided counts for both."""
        sums: dict[str, list[Tally]] = {}
        for one in self.found:
            for name in of(one):
                sums.setdefault(name, []).append(one)
        made = sorted(
            ((_sum(self.code, some), sum(one.number for one in some), name) for name, some in sums.items()),
            key=lambda one: -one[0].applied,
        )
        most = max((money.applied for money, _, _ in made), default=0)
        return [
            {
                "name": _NAMELESS[key] if name == NONE else self.people.get(name, name.lstrip()),
                "money": words.money(money.applied, self.code),
                "number": number,
                "share": f"{money.applied / most * 100 if most else 0:.1f}%",
                "href": self._behind(**_asked(key, name)),
            }
            for money, number, name in made
        ]


def _deciders(one: Tally) -> Iterable[str]:
    """Who has decided; where nobody has, why not."""
    if one.like.deciders:
        return one.like.deciders
    return [why for why, states in _UNDECIDED.items() if one.like.state in states]


def _asked(key: str, name: str) -> dict[str, str]:
    """What the search behind a bar asks for beside all that the others do."""
    if name not in _UNDECIDED:
        return {key: name}
    return {key: NONE, STATE: ",".join(sorted(slug(state.value) for state in _UNDECIDED[name]))}


def _sum(currency: str, found: Iterable[Tally]) -> Money:
    return next(iter(totals.sums_of(found)), Money(currency))
