"""What a broker may do to a message: double it, lose it, bring it too late. No run minds."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from durable.celery import app
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
