"""Whoever dies at a beat that no schedule passes has done it or has not; done again, it is done once."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from durable import claims, clock, faults, journal, recovery, restoring, retention, runner, strays, vault
from durable.author import GiveUp, Next, RunContext, step
from durable.errors import InterlockError
from durable.models import Anchor, Recovery, Root, Run, StatementRequest
from durable.roots import builder, keeping
from durable.roots.statement import from_line
from durable.states import EventKind, RunState
from durable.transitions import still_held
from durable.vendor_statements import requests
from tests.engine import agents, desk, people, tools
from tests.engine.restored import wants
from tests.engine.scenes import WHY, Killed, die
from tests.vendors import Vendor

pytestmark = pytest.mark.usefixtures("kit", "world")
#: What is done, and done again; then, what must hold.
Scene = tuple[Callable[[], object], Callable[[], bool]]


def kept(run: Run, kind: EventKind) -> int:
    """How often the run's ledger tells of it."""
    return [event.kind for event in journal.events(run.ref)].count(kind)


@step
def leave(self: Any, run: RunContext) -> Next:
    """See no way to do it."""
    raise GiveUp("it can't be done")


def failing(vendor: Vendor) -> Scene:
    run = agents.run_of(leave)

    def drive() -> None:
        desk.time_passes(minutes=5)
        runner.drive(run.ref)

    return drive, lambda: desk.drive(run).state == RunState.FAILED and kept(run, EventKind.FAILED) <= 1


def heartbeat(vendor: Vendor) -> Scene:
    claim = claims.claim(agents.start("Looper").ref)
    assert claim is not None
    return lambda: still_held(claim), lambda: still_held(claim) and not claim.lost


def hint(vendor: Vendor) -> Scene:
    run = agents.start("Looper")
    Run.objects.filter(pk=run.pk).update(hinted_at=None)
    return recovery.hint, lambda: Run.objects.get(pk=run.pk).hinted_at is not None


def wake(vendor: Vendor) -> Scene:
    run = agents.start("Looper")
    Run.objects.filter(pk=run.pk).update(state=RunState.SUSPENDED.value, due_at=None)
    return lambda: strays.wake(run), lambda: desk.drive(run).state == RunState.COMPLETED


def prune(vendor: Vendor) -> Scene:
    run = desk.drive(agents.start("Looper"))
    desk.time_passes(days=8)
    return retention.prune, lambda: kept(run, EventKind.PRUNED) == 1


def erase(vendor: Vendor) -> Scene:
    run = agents.start("Looper")

    def gone() -> bool:
        with suppress(vault.Erased):
            vault.open_key(run.pk, run.ref)
            return False
        return True

    return lambda: vault.destroy(run), gone


def refusal(vendor: Vendor) -> Scene:
    wants(vendor, tools.keyed, "140.00")
    run = desk.drive(tools.start())

    def late() -> None:
        with suppress(InterlockError):
            people.say(run, round=7)

    return late, lambda: kept(run, EventKind.REFUSED_DECISION) == 1 and len(people.gates(run)) == 1


def restore(vendor: Vendor) -> Scene:
    wants(vendor)
    tools.start()

    def over() -> bool:
        found = Recovery.objects.get()
        return found.done_at is not None and found.stop is not None and found.stop.lifted_at is not None

    return lambda: restoring.restored(**WHY), over


def roots(vendor: Vendor) -> Scene:
    agents.start("Looper")

    def make() -> None:
        desk.time_passes(minutes=10)  # whoever told an anchor is given up by then
        builder.build()
        keeping.keep()

    def outside() -> bool:
        kept = {from_line(line)[0] for line in Path(settings.INTERLOCK_ANCHOR_FILE).read_text().splitlines()}
        made = list(Root.objects.order_by("number").values_list("statement", flat=True))
        return len(made) == 1 and made[0] in kept and Anchor.objects.get(name="file").kept == 1

    return make, outside


def planned(vendor: Vendor) -> Scene:
    """The schedule notes the days of which statements are due, each once."""

    def noted() -> bool:
        days = list(StatementRequest.objects.values_list("start", flat=True))
        return len(days) == len(set(days)) == 1

    return lambda: requests.plan(clock.db_now().replace(hour=23)), noted


BESIDE = {
    f"{beat}.{moment}": scene
    for scene, beats, kind in (
        (failing, ("failing",), "commit"),
        (heartbeat, ("heartbeat",), "commit"),
        (hint, ("hint",), "commit"),
        (wake, ("wake",), "commit"),
        (prune, ("prune",), "commit"),
        (erase, ("erase",), "commit"),
        (refusal, ("refusal",), "commit"),
        (planned, ("wanted",), "commit"),
        (restore, ("recovery", "restored"), "commit"),
        (restore, ("statement",), "call"),
        (roots, ("mark", "root", "keep"), "commit"),
        (roots, ("anchor",), "call"),
    )
    for beat in beats
    for moment in (f"before_{kind}", f"after_{kind}")
}


@pytest.mark.parametrize("point", BESIDE)
def test_who_dies_at_a_beat_beside_the_runs_has_done_it_once_when_it_is_done_again(
    vendor: Vendor, point: str
) -> None:
    act, holds = BESIDE[point](vendor)
    faults.arm(point, die)
    with pytest.raises(Killed):
        act()
    act()
    assert holds()
