"""Races of two commands about one run that is stuck, held, or has failed."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from decimal import Decimal
from functools import partial

from durable import runner, runs, steering
from durable.models import Run
from durable.states import EventKind, RunState
from proof.races import cast
from proof.races.gates import BLIND
from proof.races.ground import SMALL, Ground, drive
from proof.races.harness import Beaten, Played, Race
from proof.races.lives import Living, kinds, queued


def stuck(ground: Ground, rounds: int) -> list[Living]:
    """Runs whose step has failed for good, over an order that has been mended since."""
    found = queued(cast.Stubborn, ground, rounds)
    cast.broken.update(living.order for living in found)
    drive(living.run for living in found)
    cast.broken.difference_update(living.order for living in found)
    return found


def retry(actor: str, living: Living) -> None:
    steering.retry(living.ref, actor=actor, reason="mended")


def whichever_worker(living: Living) -> None:
    """A worker that drives the run as soon as it may."""
    end = time.monotonic() + 3
    while not runner.drive(living.ref):
        if time.monotonic() > end:
            raise Beaten("it was never due")
        time.sleep(0.001)


def judge_retried(ground: Ground, played: Sequence[Played]) -> Iterator[str]:
    """One of the two has let it go on, and the step has acted once."""
    drive(one.item.run for one in played)
    book = ground.moved()
    for one in played:
        living: Living = one.item
        won = [name for name in one.winners if name != "worker"]
        if len(won) != 1 or kinds(living).count(EventKind.RETRIED) != 1:
            yield f"{living.ref}: {' and '.join(won) or 'nobody'} resumed it"
        if living.run.state != RunState.COMPLETED or book[living.charge] != [Decimal(SMALL)]:
            yield f"{living.ref}: {living.run.state}, and the book says {book[living.charge]}"


def side_of_retry(one: Played) -> str:
    return " and ".join(name for name in one.winners if name != "worker") or "nobody"


def held(ground: Ground, rounds: int) -> list[Living]:
    """Runs that an operator holds before their first step."""
    found = queued(cast.OnceRefunder, ground, rounds)
    for living in found:
        runs.hold(living.ref, actor="sven", reason="wait")
    return found


def fork(living: Living) -> str:
    version = Run.objects.values_list("version", flat=True).get(pk=living.run.pk)
    return steering.fork(living.ref, version, actor="olga", reason="once more").ref


def resume(living: Living) -> None:
    """An operator lets the run go on, and a worker takes it at once."""
    runs.release(living.ref, actor="sven", reason="go on")
    runner.drive(living.ref)


def judge_forked(ground: Ground, played: Sequence[Played]) -> Iterator[str]:
    """A run is forked at rest, and then does not go on beside its fork; or it goes on, and is not forked."""
    for one in played:
        drive([one.item.run, *Run.objects.filter(parent=one.item.run)])
    book = ground.moved()
    for one in played:
        living: Living = one.item
        told = kinds(living)
        resumed = EventKind.RELEASED in told
        if one.outcomes["resume"].won != resumed:
            yield f"{living.ref}: who resumed was told {one.outcomes['resume'].words!r}"
        if (EventKind.FORKED in told) == resumed:
            yield f"{living.ref}: {'forked, and it went on' if resumed else 'neither forked nor resumed'}"
        if one.outcomes["fork"].won != (EventKind.FORKED in told):
            yield f"{living.ref}: who forked was told {one.outcomes['fork'].words!r}"
        if book[living.charge] != [Decimal(SMALL)]:
            yield f"{living.ref}: with its fork it moved {book[living.charge]}"


def side_of_fork(one: Played) -> str:
    return "forked" if one.outcomes["fork"].won else "resumed"


def failed(ground: Ground, rounds: int) -> list[Living]:
    """Runs that have set goods aside and then failed, over an order that has been mended since."""
    found = queued(cast.Keeper, ground, rounds)
    cast.broken.update(living.order for living in found)
    drive(living.run for living in found)
    cast.broken.difference_update(living.order for living in found)
    return found


def compensate(living: Living) -> None:
    runs.compensate(living.ref, actor="sven", reason="give it up")


def judge_compensated(ground: Ground, played: Sequence[Played]) -> Iterator[str]:
    """It goes on or back, never both."""
    drive(one.item.run for one in played)
    book = ground.moved()
    for one in played:
        living: Living = one.item
        told = [kind for kind in kinds(living) if kind in (EventKind.RETRIED, EventKind.COMPENSATION_ASKED)]
        if len(one.winners) != 1 or len(told) != 1:
            yield f"{living.ref}: {' and '.join(one.winners) or 'nobody'} won, and the ledger says {told}"
            continue
        state, moved = {
            "resume": (RunState.COMPLETED, [1]),
            "compensate": (RunState.COMPENSATED, [1, -1]),
        }[one.winners[0]]
        if living.run.state != state or book[living.order] != moved:
            yield f"{living.ref}: {one.winners[0]} won; {living.run.state}, the book says {book[living.order]}"


RACES = (
    Race(
        "resume/resume",
        stuck,
        {"sven": partial(retry, "sven"), "olga": partial(retry, "olga"), "worker": whichever_worker},
        judge_retried,
        BLIND,
        sides={"sven": "sven", "olga": "olga"},
        side=side_of_retry,
    ),
    Race(
        "fork/resume",
        held,
        {"fork": fork, "resume": resume},
        judge_forked,
        BLIND,
        sides={"forked": "fork", "resumed": "resume"},
        side=side_of_fork,
    ),
    Race(
        "compensate/resume",
        failed,
        {"compensate": compensate, "resume": partial(retry, "olga")},
        judge_compensated,
        BLIND,
        sides={"compensate": "compensate", "resume": "resume"},
    ),
)
