"""What a query of the ledger finds, whatever has become of the runs: one definition for rows, counts and sums.

Names, receipts and amounts have an index each, and bring their effects themselves. What there is little of, a tool or a
state or who decided, is narrowed down by the summary first: it knows between which ids such effects are, so that no
search walks through all that are not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db.models import Q, QuerySet

from approvals.ledger_query import CURRENCY, KEY, RECEIPT, LedgerQuery, Part
from approvals.queries import bisecting, groups, pages, subjects, tallies
from approvals.queries.bisecting import OUT_OF_ORDER
from approvals.queries.groups import Group, Wanted
from approvals.queries.subjects import Name
from approvals.queries.tallies import ALWAYS, NEVER_OVER
from durable.models import Effect, Run, Subject
from durable.money import EXPONENTS
from durable.text import quoted


@dataclass(frozen=True, slots=True)
class Search:
    """A query, looked up: the effects that it finds whatever their state, and what there is to say about it.

    `few`: they are brought by an index of their own, and not by the summary. `names` are those that a part of a name
    has found; `about` says it in a sentence.
    """

    query: LedgerQuery
    wanted: Wanted
    groups: Sequence[Group]
    standing: tallies.Standing
    base: QuerySet[Effect]
    few: bool
    names: Sequence[Name] = ()
    about: str = ""
    problems: Sequence[str] = field(default=())

    @property
    def found(self) -> QuerySet[Effect]:
        """The effects that the query finds."""
        return self.base.filter(self.wanted.q())

    @property
    def summed(self) -> bool:
        """Whether the summary knows how many they are."""
        return not self.few and self.standing.blocks is not None and not self.problems

    @property
    def bounds(self) -> list[datetime]:
        """Between which moments they were recorded."""
        return [self.query.start or ALWAYS, self.query.end or NEVER_OVER]


def look_up(query: LedgerQuery, position: tuple[int, int] | None = None) -> Search:
    """Look a query up; `position` is how far the summary is (`durable.summary`), where that is known."""
    known, standing = groups.all_groups(), tallies.standing(position)
    wanted = groups.wanted(query, known)
    found = _Parts()
    if not query.problems:
        found.read(query)
    problems = (*query.problems, *found.problems)
    base = Effect.objects.none() if problems else found.effects()
    if not problems and found.any:
        base = base.filter(_recorded(query))
    elif not problems:  # the summary knows between which ids they are
        base = base.filter(_between(query))
    return Search(query, wanted, known, standing, base, found.any, found.names, found.about, problems)


@dataclass(slots=True)
class _Parts:
    """What brings effects by an index of its own: names, receipts, keys, amounts.

    They are looked up first, and named to the server by their ids: joined into the list, it would rather walk through
    all effects from the newest back. Only what finds more than are counted is left for it to join.
    """

    lists: list[tuple[QuerySet[Any, Any], str]] = field(default_factory=list)
    ids: list[list[int]] = field(default_factory=list)
    names: list[Name] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    about: str = ""

    @property
    def any(self) -> bool:
        """Whether there is such a part at all."""
        return bool(self.lists or self.ids)

    def read(self, query: LedgerQuery) -> None:
        """Take the parts of a query."""
        for kind, part in query.subjects:
            found = subjects.named(kind, part)
            self.lists.append(_about(found.hashes))
            self.names += found.names
            self.problems += [found.problem] if found.problem else []
        if query[RECEIPT]:
            self.lists.append((Effect.objects.filter(bearing([query[RECEIPT]])), "pk"))
        if query[KEY]:
            self._keyed(query[KEY], *pages.few(_run_of(query[KEY])))
        if query.amounts is not None:
            self.lists.append((Effect.objects.filter(_amounts(query) & _between(query)), "pk"))
        if query.text:
            self._called(query.text)

    def effects(self) -> QuerySet[Effect]:
        """The effects that all parts have in common."""
        looked_up = pages.few(*self.lists) if self.lists else []
        few = [*self.ids, *(ids for ids in looked_up if ids is not None)]
        many = [one for one, ids in zip(self.lists, looked_up, strict=True) if ids is None]
        found = Effect.objects.all()
        if few:
            common = set(few[0]).intersection(*few[1:])
            found = found.filter(pages.Among("pk", sorted(common)))
        for one, column in many:
            found = found.filter(pk__in=one.order_by().values(column))
        return found

    def _keyed(self, beginning: str, runs: list[int] | None) -> None:
        found = _keyed(beginning, runs)
        if found is None:
            self.problems.append(
                f"More than {pages.COUNTED:,} effects have a key that begins with {quoted(beginning)}:"
                " type more of it."
            )
        self.ids.append(found or [])

    def _called(self, text: str) -> None:
        """What a free text names: a key or how it begins, a receipt, a subject; else a part of a name."""
        runs, proven, about = pages.few(
            _run_of(text), (Effect.objects.filter(bearing([text])), "pk"), _about(subjects.hashes(text))
        )
        self._keyed(text, runs)
        (named,) = self.ids[-1:]
        if about is None:
            more, column = _about(subjects.hashes(text))
            either = Q(pages.Among("pk", [*named, *(proven or [])])) | Q(
                pk__in=more.order_by().values(column)
            )
            self.lists.append((Effect.objects.filter(either), "pk"))
            del self.ids[-1]
            return
        named += [*(proven or []), *about]
        if named or self.problems:
            return
        parts = subjects.named("", Part(text, begins=False, ends=False))
        if parts.names:
            del self.ids[-1]
            self.lists.append(_about(parts.hashes))
            self.names += parts.names
            self.about = f"Nothing is called {quoted(text)}; these names hold it:"


def bearing(receipts: Sequence[str]) -> Q:
    """Effects that one of these receipts proves. Those that act and those that undo have an index each."""
    return Q(receipt_id__in=receipts, undo_of=None) | Q(receipt_id__in=receipts, undo_of__isnull=False)


def _about(hashes: Sequence[str]) -> tuple[QuerySet[Any, Any], str]:
    return Subject.objects.filter(hash__in=list(hashes)), "effect_id"


def _run_of(beginning: str) -> tuple[QuerySet[Any, Any], str]:
    """The runs whose effects' keys may begin so: a key begins with its run's ref and a colon."""
    ref, colon, _ = beginning.partition(":")
    return Run.objects.filter(ref=ref) if colon else Run.objects.filter(ref__startswith=ref), "pk"


def _keyed(beginning: str, runs: list[int] | None) -> list[int] | None:
    """Effects of these runs by the beginning of their key; None for too many."""
    if not runs:
        return runs
    (found,) = pages.few(
        (Effect.objects.filter(pages.Among("run_id", runs), key__startswith=beginning), "pk")
    )
    return found


def _amounts(query: LedgerQuery) -> Q:
    """Effects of such an amount, in each currency as it counts."""
    assert query.amounts is not None
    found = Q()
    for decimals in sorted(set(EXPONENTS.values())):
        codes = [code for code, places in EXPONENTS.items() if places == decimals]
        if query[CURRENCY]:
            codes = [code for code in codes if code == query[CURRENCY]]
        between = query.amounts.minor(decimals)
        if codes and between is not None:
            found |= Q(currency__in=codes, amount_minor__range=between)
    return found or Q(pk__in=[])


def _between(query: LedgerQuery) -> Q:
    """Effects of the time that is asked for."""
    found = Q()
    if query.start is not None:
        found &= Q(recorded_at__gte=query.start)
    if query.end is not None:
        found &= Q(recorded_at__lt=query.end)
    return found


def _recorded(query: LedgerQuery) -> Q:
    """The same, said of their ids as well: so nothing newer or older is passed through."""
    found = _between(query)
    moments = [moment for moment in (query.start, query.end) if moment is not None]
    last = bisecting.last_before("durable_effect", "recorded_at", moments)
    if query.start is not None:
        found &= Q(pk__gt=last[query.start] - OUT_OF_ORDER)
    if query.end is not None:
        found &= Q(pk__lte=last[query.end] + OUT_OF_ORDER)
    return found
