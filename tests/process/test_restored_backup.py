"""A real restore: an older data folder in the place of the one that was lost, and real workers go on from it."""

from __future__ import annotations

import sys
from decimal import Decimal
from pathlib import Path

import pytest
from django.db import connection

from durable import runner
from durable.models import Effect, Recovery, Run
from durable.states import EffectState
from local.throwaway import ThrowAway
from proof import worker
from proof.stage import SWEEPER, Stage
from tests.process import house
from tests.process.house import Ticket
from tests.vendors import Vendor

pytestmark = pytest.mark.process
FORTY = [Decimal("40.00")]
RECOVER = (sys.executable, "manage.py", "recover", "--reason", "the disk died")


def goods(vendor: Vendor, ticket: Ticket) -> list[str]:
    """The keys under which the warehouse has set something aside for a ticket's run."""
    return [one["key"] for one in vendor.book("stock") if one["key"].startswith(ticket.run.ref + ":")]


def test_after_a_restore_every_forgotten_effect_is_found_and_none_is_done_again(
    on: Stage, vendor: Vendor, own: ThrowAway, tmp_path: Path
) -> None:
    on.settings |= house.addresses(own)
    with house.database(own.postgres.url()), house.broker(own.broker.url()):
        before = Ticket(vendor, "before").start()
        gated = Ticket(vendor, "gated", paid="184.50").start()
        drive(before, gated)
        refunded = Ticket(vendor, "refunded", paid="100.00").start(amount="40.00")
        replaced = Ticket(vendor, "replaced").start(wants="replacement")
        connection.close()
        own.postgres.back_up(tmp_path / "backup")

        gone = Ticket(vendor, "gone").start()
        house.approve(gated)
        drive(refunded, replaced, gated, gone)
        booked = vendor.book()
        assert len(booked) == 5
        lost = Effect.objects.get(run=gone.run)

        connection.close()
        own.postgres.restore(tmp_path / "backup")
        recovering = on.start((*RECOVER, "--restored"))
        assert recovering.wait(60) == 1, on.said()
        assert f"{lost.key}  stripe" in on.said()
        assert not Run.objects.filter(ref=gone.run.ref).exists()
        children = [on.start(worker.command("runs", "after")), on.start(SWEEPER)]
        house.until(lambda: adopted(gated), "the gate's effect to be found while all is stopped", on.said)
        assert on.start((*RECOVER, "--go-on")).wait(60) == 0, on.said()
        for ticket in (refunded, replaced, gated):
            house.until(ticket.ended, f"{ticket.name} to complete", on.said)
        for child in children:
            on.stop(child)
        assert vendor.book() == booked
        assert [adopted(one) for one in (before, gated, refunded, replaced)] == [False, True, True, True]
        assert Recovery.objects.get().stop.lifted_at is not None

        # The same without the command, at a vendor that ignores keys: this is what it guards against.
        vendor.modes(keys="ignore")
        connection.close()
        own.postgres.restore(tmp_path / "backup")
        drive(refunded, replaced)
        assert refunded.moved() == FORTY * 2
        assert len(goods(vendor, replaced)) == 2


def drive(*tickets: Ticket) -> None:
    """Take each run as far as it goes, in this process."""
    for ticket in tickets:
        assert runner.drive(ticket.run.ref)


def adopted(ticket: Ticket) -> bool:
    """Whether the one effect of a ticket's run was found at the vendor."""
    return Effect.objects.filter(run=ticket.run, state=EffectState.APPLIED, adopted=True).exists()
