"""A deploy: workers get SIGTERM in mid-run. Nothing starts after it, and no run waits for a lease before it goes on."""

from __future__ import annotations

import os
import signal
import subprocess
from datetime import datetime
from decimal import Decimal
from typing import Any

import psutil
import pytest
from django.db import connection

from durable import runs
from durable.models import Attempt, Effect, LedgerEvent, Run
from durable.states import EffectState, RunState
from proof import worker
from proof.stage import SWEEPER, Stage
from tests.process import house, long_agent
from tests.vendors import Vendor

pytestmark = pytest.mark.process
PARTS = 12
#: Far longer than a test may take: whatever goes on goes on because it was handed back.
LEASE = "600"


@pytest.fixture(autouse=True)
def _agents(on: Stage, settings: Any) -> None:
    on.settings |= {"LEASE_SECONDS": LEASE, "INTERLOCK_AGENTS": long_agent.__name__}
    settings.INTERLOCK_AGENTS = (long_agent.__name__,)


def begin(vendor: Vendor, *, parts: int = PARTS, pause: float = 0.0) -> Run:
    charge = vendor.seed_charge("100.00", "EUR")
    order = vendor.seed_order("long", "100.00", "EUR", charge=charge, customer="cus_long")
    given = {"order": order, "charge": charge, "parts": parts, "pause": pause}
    return runs.start("Drop", given, actor="tests")


def now() -> datetime:
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        found: datetime = cursor.fetchone()[0]
    return found


def done(run: Run) -> int:
    return Effect.objects.filter(run=run, state=EffectState.APPLIED.value).count()


def out(run: Run) -> bool:
    """Whether a request is on its way."""
    return Effect.objects.filter(run=run, state=EffectState.PENDING.value, open_sends=1).exists()


def state(run: Run) -> str:
    run.refresh_from_db()
    return run.state


def ends(run: Run) -> list[str]:
    return list(Attempt.objects.filter(run=run).order_by("number").values_list("how", flat=True))


def started_after(run: Run, moment: datetime) -> list[tuple[int, str]]:
    """What the ledger says was begun after a moment."""
    begun = LedgerEvent.objects.filter(run_ref=run.ref, kind__in=("intent", "sent"), at__gt=moment)
    return list(begun.order_by("no").values_list("no", "kind"))


def test_a_worker_told_to_end_hands_its_run_back_and_another_goes_on_at_once(
    on: Stage, vendor: Vendor
) -> None:
    first = on.start(worker.command("runs", "first"))
    run = begin(vendor, pause=0.1)
    house.until(lambda: done(run) >= 3, "the run to be in mid-run", on.said)

    first.send_signal(signal.SIGTERM)
    assert first.wait(house.PATIENCE) == 0, on.said()
    left_at = done(run)
    assert 3 <= left_at < PARTS
    assert (state(run), run.lease_until, run.crashes, run.tries) == (RunState.QUEUED, None, 0, 0)
    assert ends(run) == ["released"]

    on.start(worker.command("runs", "second"))
    house.until(lambda: state(run) == RunState.COMPLETED, "the run to complete", on.said)
    assert ends(run) == ["released", "ended"]
    assert vendor.moved() == [Decimal("1.00")] * PARTS


@pytest.mark.parametrize("told", ["the worker", "its whole group"])
def test_a_request_that_is_out_when_the_word_comes_is_finished_and_nothing_follows_it(
    told: str, on: Stage, vendor: Vendor
) -> None:
    first = on.start(worker.command("runs", "first"))
    run = begin(vendor, parts=3)
    vendor.fault("slow", method="POST", path="/v1/refunds", seconds=1.5)
    house.until(lambda: out(run), "the request to be out", on.said)

    told_at = now()
    tell(first, whole_group=told == "its whole group")
    assert first.wait(house.PATIENCE) == 0, on.said()

    assert started_after(run, told_at) == []
    kinds = [kind for _, kind in events(run)]
    assert kinds == ["started", "intent", "sent", "applied"]
    assert (state(run), ends(run), run.crashes) == (RunState.QUEUED, ["released"], 0)

    on.start(worker.command("runs", "second"))
    house.until(lambda: state(run) == RunState.COMPLETED, "the run to complete", on.said)
    assert vendor.moved() == [Decimal("1.00")] * 3
    assert "looked up" not in [kind for _, kind in events(run)]


def events(run: Run) -> list[tuple[int, str]]:
    return list(LedgerEvent.objects.filter(run_ref=run.ref).order_by("no").values_list("no", "kind"))


def tell(child: subprocess.Popen[bytes], *, whole_group: bool) -> None:
    """SIGTERM, as an orchestrator sends it: to the process that it started, or to all of its group."""
    if whole_group:
        os.killpg(os.getpgid(child.pid), signal.SIGTERM)
    else:
        child.send_signal(signal.SIGTERM)


def test_a_sweeper_told_to_end_waits_until_its_runs_are_handed_back(on: Stage, vendor: Vendor) -> None:
    on.settings["CELERY_BROKER_URL"] = "redis://127.0.0.1:1/0"  # nobody there: the sweeper drives by itself
    run = begin(vendor, pause=0.1)
    Run.objects.filter(pk=run.pk).update(hinted_at=None)
    sweeper = on.start(SWEEPER)
    house.until(lambda: done(run) >= 2, "the sweeper to drive the run", on.said)
    child = psutil.Process(sweeper.pid).children(recursive=True)[0]

    sweeper.send_signal(signal.SIGTERM)
    assert sweeper.wait(house.PATIENCE) == 0, on.said()
    assert not child.is_running()
    assert (state(run), ends(run), run.lease_until) == (RunState.QUEUED, ["released"], None)
    assert done(run) < PARTS

    on.start(SWEEPER)
    house.until(lambda: state(run) == RunState.COMPLETED, "the run to complete", on.said)
    assert vendor.moved() == [Decimal("1.00")] * PARTS
