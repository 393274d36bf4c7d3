"""What a broker and a pool may do to a message: double, lose, delay it, or die with it in hand. No run minds."""

from __future__ import annotations

import os
import signal
from decimal import Decimal
from typing import Any

import psutil
import pytest

from durable.celery import app
from durable.models import Attempt
from proof import worker
from proof.stage import SWEEPER, Stage
from tests.process import house
from tests.process.house import Ticket
from tests.vendors import Vendor

pytestmark = pytest.mark.process
FORTY = [Decimal("40.00")]


def test_a_message_that_comes_ten_times_and_one_that_comes_too_late_drive_nothing_twice(
    on: Stage, vendor: Vendor
) -> None:
    ticket = Ticket(vendor, "doubled").start()
    for _ in range(10):
        house.hint(ticket, "runs")
    workers = [on.start(worker.command("runs", name)) for name in ("one", "two")]
    house.until(ticket.ended, "the run to complete", on.said)

    house.hint(ticket, "runs")  # late: the run has ended
    last = Ticket(vendor, "after").start()
    house.hint(last, "runs")
    house.until(last.ended, "what was sent after the late message", on.said)

    assert (ticket.moved(), last.moved()) == (FORTY, FORTY)
    assert ticket.run.attempt == last.run.attempt == 1
    assert [child.poll() for child in workers] == [None, None]


def test_a_queue_that_was_emptied_loses_no_run(on: Stage, vendor: Vendor) -> None:
    tickets = [Ticket(vendor, f"emptied-{n}").start() for n in range(3)]
    with app.connection_for_write() as connection:
        channel: Any = connection.default_channel
        assert channel.queue_purge("runs") >= len(tickets)

    on.start(worker.command("runs", "only"))
    on.start(SWEEPER)
    for ticket in tickets:
        house.until(ticket.ended, "a run whose message was lost", on.said)

    assert [ticket.moved() for ticket in tickets] == [FORTY] * 3


def test_a_pool_process_killed_with_a_refund_in_hand_is_replaced_and_the_money_moves_once(
    on: Stage, vendor: Vendor
) -> None:
    ticket = Ticket(vendor, "killed-child")
    vendor.fault("slow", method="POST", contains=ticket.charge, seconds=2)
    main = on.start(worker.command("runs", "main"))
    on.start(SWEEPER)
    ticket.start()
    house.until(ticket.sent, "the request to be out", on.said)
    pid = int(Attempt.objects.get(run=ticket.run).worker.rpartition(":")[2])
    assert pid in {child.pid for child in psutil.Process(main.pid).children(recursive=True)}

    os.kill(pid, signal.SIGKILL)  # as when the machine is out of memory

    house.until(ticket.ended, "the run to complete", on.said)
    assert ticket.moved() == FORTY
    assert ticket.run.attempt > 1
    assert main.poll() is None
