"""What must hold at every moment of every run, however it came there. The vendor's book says what moved."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from approvals.models import Gate
from durable.models import Budget, Checkpoint, Effect, LedgerEvent, Run, Wait
from durable.states import ENDED, UNSETTLED, EventKind, RunState
from tests.engine.held import check_chains, check_purses

_LINK = re.compile(r"~\d+")


def lineage(key: str) -> str:
    """The act that a key stands for: keys that are linked to an older one are the same act."""
    return _LINK.sub("", key)


def check(runs: Iterable[Run], book: Iterable[Mapping[str, Any]]) -> None:
    """Every law at once."""
    mine = list(runs)
    check_purses()
    check_chains()
    nothing_twice(book)
    nothing_unapproved(mine)
    for run in mine:
        run.refresh_from_db()
        no_end_over_the_unsettled(run)
        no_rest_without_a_reason(run)
        checkpoints_only_grow(run)


def nothing_twice(book: Iterable[Mapping[str, Any]]) -> None:
    """Each act moved at most once, however many keys it has had."""
    moved = Counter(lineage(one["key"]) for one in book)
    assert {key: times for key, times in moved.items() if times > 1} == {}, "an act moved twice"


def nothing_unapproved(runs: Iterable[Run]) -> None:
    """Each `sent` of a round that was gated comes after the yes for that round."""
    kinds = [EventKind.GATED.value, EventKind.APPROVED.value, EventKind.SENT.value]
    events = LedgerEvent.objects.filter(run_ref__in=[run.ref for run in runs], kind__in=kinds).order_by("id")
    gated: set[tuple[str, int]] = set()
    for event in events:
        place = event.effect_key, json.loads(event.body)["round"]
        match event.kind:
            case EventKind.GATED:
                gated.add(place)
            case EventKind.APPROVED:
                gated.discard(place)
            case _:
                assert place not in gated, f"{place} was sent and nobody had approved it"


def no_end_over_the_unsettled(run: Run) -> None:
    """What has ended has nothing pending, in doubt, or asked of people, but for alarms about what is settled."""
    if run.state not in ENDED or run.state == RunState.FAILED:
        return
    unsettled = Effect.objects.filter(run=run, state__in=[one.value for one in UNSETTLED])
    assert not unsettled.exists(), f"{run.ref} is {run.state} over {unsettled.first()}"
    assert not Gate.objects.filter(effect__run=run, state__in=("open", "asked back")).exists()


def no_rest_without_a_reason(run: Run) -> None:
    """What is suspended waits for something, or a command has just made it due."""
    if run.state == RunState.SUSPENDED and not run.held:
        assert Wait.objects.filter(run=run, state="open").exists() or run.due_at is not None, (
            f"{run.ref} sleeps for ever"
        )


def checkpoints_only_grow(run: Run) -> None:
    """Versions follow one another, and the run stands at the newest that is kept."""
    versions = list(Checkpoint.objects.filter(run=run).order_by("id").values_list("version", flat=True))
    assert versions == sorted(set(versions))
    assert not versions or versions[-1] == run.version


def spent(run: Run) -> tuple[int, int, int]:
    """What a budget has used: steps, tokens, and money in minor units."""
    budget = Budget.objects.get(pk=run.budget_id)
    return budget.steps_used, budget.tokens_used, sum(purse.spent_minor for purse in budget.purses.all())
