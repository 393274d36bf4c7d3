"""What an act on many runs will do, counted before it is started: runs by what happens to them, effects, and money."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import BooleanField, Count, ExpressionWrapper, Q, Sum

from approvals.acts import Situation
from approvals.bulk_acts import BulkKind
from approvals.models import BulkAct, BulkResult
from approvals.queries import words
from durable import tools
from durable.errors import InterlockError
from durable.models import Effect, Run, Wait
from durable.states import OPEN, EffectState, RunState, WaitKind, WaitState

_E = EffectState
_UNANSWERED = Q(open_sends__gt=0) | Q(state=_E.IN_DOUBT.value) | Q(forgotten_since__isnull=False)


@dataclass(frozen=True, slots=True)
class _Group:
    """Effects alike: of one tool, state and currency. `unanswered`: the vendor may have them, as in
    `queries.tally`."""

    tool: str
    state: str
    unanswered: bool
    currency: str
    number: int
    minor: int | None


def outlooks(kind: BulkKind, ids: Sequence[int]) -> dict[int, str]:
    """Why the act does not fit each of the runs, empty where it does; three queries for all."""
    waits = Wait.objects.filter(state=WaitState.OPEN.value, kind=WaitKind.ATTENTION.value, effect=None)
    unsettled = Effect.objects.filter(_UNANSWERED, state__in=[state.value for state in OPEN])
    stuck, doubt = (
        set(found.filter(run_id__in=ids).values_list("run_id", flat=True)) for found in (waits, unsettled)
    )
    return {
        pk: kind.outlook(Situation(RunState(state), held, pk in stuck, pk in doubt))
        for pk, state, held in Run.objects.filter(pk__in=ids).values_list("pk", "state", "held")
    }


def shown(kind: BulkKind, bulk: BulkAct, found: Iterable[str]) -> dict[str, Any]:
    """What a person is shown before they start it: `fits`, `rest` (reason and count), and `lines`, sentences."""
    counted = Counter(found)
    fits = counted.pop("", 0)
    rest = [[reason, number] for reason, number in counted.most_common()]
    return {"fits": fits, "rest": rest, "lines": _lines(kind, _groups(bulk)) if fits else []}


def _groups(bulk: BulkAct) -> list[_Group]:
    """The effects of the runs that it fits, counted and summed; undos and what was undone are left out."""
    fitting = BulkResult.objects.filter(bulk=bulk, outlook="").order_by().values("run_id")
    rows = (
        Effect.objects.filter(run_id__in=fitting, undo_of=None)
        .exclude(undos__state=_E.APPLIED.value)
        .annotate(unanswered=ExpressionWrapper(_UNANSWERED, BooleanField()))
        .order_by("tool", "state", "unanswered", "currency")
        .values_list("tool", "state", "unanswered", "currency")
        .annotate(number=Count("pk"), minor=Sum("amount_minor"))
    )
    return [_Group(*row) for row in rows]


def _lines(kind: BulkKind, groups: Sequence[_Group]) -> list[str]:
    def having(*states: EffectState, unanswered: bool | None = None) -> list[_Group]:
        wanted = {state.value for state in states}
        return [group for group in groups if group.state in wanted and unanswered in (None, group.unanswered)]

    gated, approved = having(_E.GATED), having(_E.APPROVED)
    open_ones = having(_E.PENDING, _E.IN_DOUBT, unanswered=True)
    meant = having(_E.PENDING, unanswered=False)
    if kind.name == "holds":
        lines = ["Nothing of them leaves until somebody releases them; a request on its way is settled."]
        lines += _line("{} stay open: an answer counts, and waits for the release.", gated, "gate")
        return [*lines, "The budgets' deadlines and the gates' clocks run on."]
    if kind.name == "releases":
        lines = ["They go on from where they stand."]
        return [
            *lines,
            *_line("{} sent next, as approved.", approved),
            *_line("{} sent next, nobody is asked.", meant),
            *_line("{} looked up first.", open_ones),
            *_line("{} still waiting for people.", gated),
        ]
    if kind.name == "retries":
        lines = ["Each run's step is executed again from its start, under the same keys."]
        lines += _line("{} answered from the record or not touched, never repeated.", having(_E.APPLIED))
        return [
            *lines,
            *_line("{} looked up first.", open_ones),
            *_line("{} sent, nobody is asked.", meant),
            *_line("{} sent, as approved.", approved),
            *_line("{} still waiting for people.", gated),
        ]
    lines = ["No new effect of them starts, and they never go on."]
    lines += _line("{} withdrawn, never arrived.", [*gated, *approved, *meant])
    lines += _line("{} looked up first; their runs end once it is known.", open_ones)
    applied = having(_E.APPLIED)
    if kind.name == "cancellations":
        return [*lines, *_line("{} done already; that stays done.", applied)]
    undoable = [group for group in applied if _undoable(group.tool)]
    lines += _line("{} undone, in reverse order within each run.", undoable)
    return [*lines, *_line("{} that can't be undone.", [g for g in applied if g not in undoable])]


def _line(sentence: str, groups: Sequence[_Group], word: str = "effect") -> list[str]:
    """The sentence with how many there are and how much money is in them, by currency; nothing where there is none."""
    number = sum(group.number for group in groups)
    if not number:
        return []
    sums: defaultdict[str, int] = defaultdict(int)
    for group in groups:
        if group.minor is not None:
            sums[group.currency] += int(group.minor)
    money = ", ".join(words.money(minor, currency) for currency, minor in sorted(sums.items()))
    things = f"{number:,} {word}{'' if number == 1 else 's'}{f' ({money})' if money else ''}"
    return [sentence.format(things)]


def _undoable(tool: str) -> bool:
    try:
        return tools.get(tool).undo_act is not None
    except InterlockError:
        return False
