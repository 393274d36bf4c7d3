"""Broker or database go away in mid-run: nothing is lost, nothing happens twice, and work goes on by itself."""

from __future__ import annotations

import subprocess
import time
from contextlib import ExitStack
from decimal import Decimal

import psutil
import pytest
from django.db import connection

from durable import journal, runner
from durable.models import Attempt, Run
from local import parts
from local.broker import Broker
from local.process import kill_group
from local.throwaway import ThrowAway
from proof import worker
from proof.stage import SWEEPER, Stage
from tests.process import house
from tests.process.house import Ticket
from tests.vendors import Vendor

pytestmark = pytest.mark.process
#: What a person may have to wait for with the broker dead.
WITHOUT_BROKER = 15.0


def test_a_database_killed_in_mid_refund_costs_time_and_no_money(
    on: Stage, vendor: Vendor, own: ThrowAway
) -> None:
    on.settings |= {**house.addresses(own), "LEASE_SECONDS": "3"}
    with house.database(own.postgres.url()), house.broker(own.broker.url()):
        ticket = Ticket(vendor, "mid")
        vendor.fault("slow", method="POST", contains=ticket.charge, seconds=1.5)
        workers = [on.start(worker.command("runs", "steadfast")), on.start(SWEEPER)]
        ticket.start()
        house.until(ticket.sent, "the request to be out", on.said)
        before = [(event.no, event.kind, bytes(event.hash)) for event in journal.events(ticket.run.ref)]

        own.postgres.kill()
        connection.close()
        own.postgres.start()

        house.until(ticket.ended, "the run to complete", on.said)
        after = [(event.no, event.kind, bytes(event.hash)) for event in journal.events(ticket.run.ref)]
        assert after[: len(before)] == before
        assert [kind for _, kind, _ in before] == ["started", "intent", "sent"]
        # The worker keeps the answer in hand for a moment; a database that is away for longer costs the attempt, and
        # the answer comes late.
        kinds = [kind for _, kind, _ in after[3:] if kind != "late answer"]
        assert kinds in (["applied", "completed"], ["attempt lost", "resumed", "adopted", "completed"])
        assert ticket.moved() == [Decimal("40.00")]
        assert [child.poll() for child in workers] == [None, None]  # they waited for it


@pytest.mark.django_db(transaction=True)
def test_a_run_that_is_announced_while_the_database_is_away_is_left_to_the_sweeper() -> None:
    with house.database("postgresql://nobody@127.0.0.1:1/none"):
        assert runner.drive("run-announced") is False


def test_with_a_dead_broker_a_decision_is_kept_and_work_goes_on(
    on: Stage, vendor: Vendor, tmp_path_factory: pytest.TempPathFactory
) -> None:
    broker = Broker(tmp_path_factory.mktemp("broker"), {"broker": "secret"}, throw_away=True)
    broker.start()
    on.settings["CELERY_BROKER_URL"] = broker.url()
    with ExitStack() as stack:
        stack.callback(broker.stop)
        stack.enter_context(house.broker(broker.url()))
        survivor = on.start(worker.command("runs", "survivor"))
        on.start(SWEEPER)
        gated = Ticket(vendor, "gated", paid="184.50").start()
        house.until(gated.waits, "the run to wait at its gate", on.said)

        assert broker.process is not None
        kill_group(broker.process.pid)
        broker.process.wait()
        house.approve(gated)
        fresh = Ticket(vendor, "fresh").start()

        began = time.monotonic()
        house.until(gated.ended, "the approved run to go on", on.said, WITHOUT_BROKER)
        house.until(fresh.ended, "the new run to complete", on.said, WITHOUT_BROKER)
        assert time.monotonic() - began < WITHOUT_BROKER
        assert (gated.moved(), fresh.moved()) == ([Decimal("184.50")], [Decimal("40.00")])
        assert driven_by(fresh.run, survivor) == [False]  # the worker could not hear of it

        broker.start()
        house.until(lambda: comes_to(survivor, vendor, on), "the worker to hear again", on.said)


def test_a_broker_killed_in_mid_refund_takes_no_worker_with_it(
    on: Stage, vendor: Vendor, tmp_path_factory: pytest.TempPathFactory
) -> None:
    broker = Broker(tmp_path_factory.mktemp("broker"), {"broker": "secret"}, throw_away=True)
    broker.start()
    on.settings |= {"CELERY_BROKER_URL": broker.url(), "LEASE_SECONDS": "10"}
    with ExitStack() as stack:
        stack.callback(broker.stop)
        stack.enter_context(house.broker(broker.url()))
        # One of two hands free: it waits for a message with the other's unacknowledged.
        survivor = on.start(parts.worker(1).argv)
        ticket = Ticket(vendor, "held")
        vendor.fault("slow", method="POST", contains=ticket.charge, seconds=3)
        ticket.start()
        house.until(ticket.sent, "the request to be out, and its hint unacknowledged", on.said)

        assert broker.process is not None
        kill_group(broker.process.pid)
        broker.process.wait()
        house.until(ticket.ended, "the run to complete", on.said)
        broker.start()

        on.start(SWEEPER)
        house.until(lambda: comes_to(survivor, vendor, on), "the worker to hear again", on.said)
        assert survivor.poll() is None


def comes_to(survivor: subprocess.Popen[bytes], vendor: Vendor, on: Stage) -> bool:
    """Whether a new run is driven by the worker again."""
    ticket = Ticket(vendor, f"after-{time.monotonic_ns()}").start()
    house.until(ticket.ended, "a run after the broker came back", on.said)
    return driven_by(ticket.run, survivor) == [True]


def driven_by(run: Run, survivor: subprocess.Popen[bytes]) -> list[bool]:
    """For each attempt, whether it was one of this worker's processes that made it."""
    pool = {child.pid for child in psutil.Process(survivor.pid).children(recursive=True)}
    names = Attempt.objects.filter(run=run).order_by("number").values_list("worker", flat=True)
    return [int(name.rpartition(":")[2]) in pool for name in names]


def test_a_pool_s_child_that_is_killed_alone_costs_a_lease_and_no_money(on: Stage, vendor: Vendor) -> None:
    ticket = Ticket(vendor, "orphaned")
    vendor.fault("slow", method="POST", contains=ticket.charge, seconds=2)
    survivor = on.start(worker.command("runs", "survivor"))
    ticket.start()
    house.until(ticket.sent, "the request to be out", on.said)

    # As the kernel does that runs out of memory. Celery takes the message for done, or sends it too early.
    child = int(Attempt.objects.get(run=ticket.run).worker.rpartition(":")[2])
    psutil.Process(child).kill()
    on.start(SWEEPER)

    house.until(ticket.ended, "the run to complete", on.said)
    ends = list(Attempt.objects.filter(run=ticket.run).order_by("number").values_list("how", flat=True))
    assert (ends[0], ends[-1]) == ("lost", "ended")
    assert ticket.moved() == [Decimal("40.00")]
    assert survivor.poll() is None
