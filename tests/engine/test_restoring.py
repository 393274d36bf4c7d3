"""Going through a restore: what is stopped, listed and marked, and what operators may do to the runs then."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import transaction

from approvals.states import Verdict
from durable import acts, clock, faults, journal, restoring, runs, steering, stops, vault
from durable.adapters import stock
from durable.errors import Conflict, Invalid
from durable.ledger.outcome import receipt_from
from durable.models import Recovery, Run, Stop
from durable.states import ActKind, EffectState, RunState
from durable.vendor import Call
from tests.engine import desk, people, tools
from tests.engine.restored import done_meanwhile, restored, wants
from tests.engine.scenes import FORTY, WHY
from tests.vendors import Vendor

pytestmark = pytest.mark.usefixtures("kit")


# What an operator does then.


def test_a_cancelled_run_is_looked_up_before_it_ends(vendor: Vendor) -> None:
    args = wants(vendor, tools.keyed, "140.00")
    run = desk.drive(tools.start())
    done_meanwhile(run, args)
    restored()
    runs.cancel(run.ref, **WHY)
    run = desk.drive(run)
    assert run.state == RunState.CANCELLED
    assert desk.effects(run) == {"pay": "applied"}


def test_a_cancelled_run_of_which_nothing_was_forgotten_withdraws_its_gate(vendor: Vendor) -> None:
    wants(vendor, tools.keyed, "140.00")
    run = desk.drive(tools.start())
    restored()
    runs.cancel(run.ref, **WHY)
    desk.drive(run)
    run = tools.later(run, minutes=2)
    assert run.state == RunState.CANCELLED
    assert desk.effects(run) == {"pay": "withdrawn"}


def test_a_step_with_an_effect_that_may_be_forgotten_is_not_skipped(vendor: Vendor) -> None:
    wants(vendor, tools.keyed, "140.00")
    run = desk.drive(tools.start())
    restored()
    runs.hold(run.ref, **WHY)
    with pytest.raises(Conflict, match="must be settled first"):
        steering.skip(run.ref, **WHY)


def test_a_run_out_of_a_backup_is_forked_only_once_it_has_completed(vendor: Vendor) -> None:
    wants(vendor)
    run = tools.start()
    restored()
    runs.hold(run.ref, **WHY)
    with pytest.raises(Conflict, match="out of a backup"):
        steering.fork(run.ref, 0, **WHY)


def test_a_forgotten_undo_is_adopted_too(vendor: Vendor) -> None:
    tools.asks((tools.set_aside, {"sku": "MUG"}))
    run = desk.drive(tools.start())
    assert run.state == RunState.COMPLETED
    proof = tools.effect(run).proof
    assert proof is not None
    reservation = receipt_from(vault.read(proof))
    stock.release_reservation(Call(f"{run.ref}:pay:undo", run.ref, 10.0, {}), reservation)
    restored()
    runs.compensate(run.ref, **WHY)
    run = desk.drive(run)
    assert run.state == RunState.COMPENSATED
    assert [one["key"] for one in vendor.book("stock")] == [f"{run.ref}:pay", f"{run.ref}:pay:undo"]
    assert tools.kinds(run, "pay:undo") == ["intent", "adopted"]


def test_a_refusal_of_the_backup_does_not_vouch_for_what_was_asked_after_it(vendor: Vendor) -> None:
    wants(vendor, tools.keyed, "140.00")
    run = desk.drive(tools.start())
    runs.hold(run.ref, **WHY)
    people.say(run, Verdict.REJECT, words="too much")
    smaller = wants(vendor, tools.keyed, "40.00")
    done_meanwhile(run, smaller)
    vendor.modes(keys="ignore")
    restored()
    runs.release(run.ref, **WHY)
    run = desk.drive(run)
    assert run.state == RunState.COMPLETED
    assert vendor.moved() == FORTY


# The recovery itself.


def test_effects_of_runs_that_are_gone_are_listed_and_keep_everything_stopped(vendor: Vendor) -> None:
    args = wants(vendor)
    run = tools.start()
    gone = Run(ref="run-gone")
    receipt = done_meanwhile(gone, args)
    report = restoring.restored(**WHY)
    assert [(one["key"], one["receipt"], one["run"]) for one in report.unknown] == [
        ("run-gone:pay", receipt, False)
    ]
    assert report.stopped
    standing = restoring.standing()
    assert standing is not None and (standing.gone, standing.stopped) == (1, True)
    desk.drive(run)
    run = tools.later(run, minutes=2)
    assert vendor.moved() == FORTY  # the one of the run that is gone
    restoring.go_on(**WHY)
    run = desk.drive(run)
    run = tools.later(run, minutes=2)
    assert run.state == RunState.COMPLETED


def test_a_vendor_that_can_not_give_its_statement_keeps_everything_stopped(vendor: Vendor) -> None:
    vendor.fault("status", status=500, method="GET", path="/v1/refunds")
    report = restoring.restored(**WHY)
    assert report.stopped
    assert len(report.away) == 1


def test_a_recovery_that_was_cut_off_is_continued(vendor: Vendor) -> None:
    wants(vendor)
    run = tools.start()

    def break_off() -> None:
        raise KeyboardInterrupt

    for point in ("recovery.after_commit", "restored.before_commit", "restored.after_commit"):
        faults.arm(point, break_off)
        with pytest.raises(KeyboardInterrupt):
            restoring.restored(**WHY)
        assert Stop.objects.filter(scope="all", lifted_at=None).count() == 1
    restoring.restored(**WHY)
    assert Recovery.objects.count() == 1
    assert Stop.objects.filter(lifted_at=None).count() == 0
    run.refresh_from_db()
    assert run.recovery is not None


def test_a_second_call_does_no_harm(vendor: Vendor) -> None:
    args = wants(vendor)
    run = tools.start()
    done_meanwhile(run, args)
    restored()
    restored()
    run = desk.drive(run)
    assert run.state == RunState.COMPLETED
    assert tools.effect(run).state == EffectState.APPLIED
    restored()
    assert desk.drive(run).state == RunState.COMPLETED
    assert vendor.moved() == FORTY


def test_a_run_that_is_started_after_the_restore_is_not_doubted(vendor: Vendor) -> None:
    restored()
    wants(vendor)
    run = desk.drive(tools.start())
    assert run.state == RunState.COMPLETED
    assert tools.kinds(run) == ["intent", "sent", "applied"]


def test_an_operators_own_stop_stands_after_the_recovery() -> None:
    order = stops.order("all", **WHY)
    restored()
    order.refresh_from_db()
    assert order.lifted_at is None


def test_a_moment_in_the_future_is_refused_and_nothing_is_stopped() -> None:
    with pytest.raises(Invalid, match="since"):
        restoring.restored(**WHY, since=clock.db_now() + timedelta(minutes=1))
    assert not Stop.objects.exists()


def test_a_vendor_that_was_away_is_asked_by_a_second_call_which_lets_the_runs_go_on(vendor: Vendor) -> None:
    wants(vendor)
    run = tools.start()
    vendor.fault("status", status=500, method="GET", path="/v1/refunds")
    assert restoring.restored(**WHY).stopped
    vendor.clear_faults()
    assert not restoring.restored(**WHY).stopped
    assert not Stop.objects.filter(lifted_at=None).exists()
    desk.drive(run)
    assert tools.later(run, minutes=2).state == RunState.COMPLETED


def test_a_second_call_still_stops_over_effects_that_nobody_has_looked_at(vendor: Vendor) -> None:
    done_meanwhile(Run(ref="run-gone"), wants(vendor))
    first = restoring.restored(**WHY)
    desk.time_passes(hours=1)
    tools.start()  # the newest event is younger than the backup by now
    second = restoring.restored(**WHY)
    assert second.stopped
    assert second.unknown == first.unknown
    assert restoring.standing() is not None
    restoring.go_on(**WHY)
    assert not Stop.objects.filter(lifted_at=None).exists()


def test_an_operator_who_lifts_an_order_of_his_own_lets_nothing_go_unseen(vendor: Vendor) -> None:
    order = stops.order("all", **WHY)
    done_meanwhile(Run(ref="run-gone"), wants(vendor))
    assert restoring.restored(**WHY).stopped
    stops.lift(order.pk, **WHY)
    run = desk.drive(tools.start())
    assert run.state == RunState.SUSPENDED
    assert vendor.moved() == FORTY  # the one of the run that is gone


def test_what_people_did_since_the_restore_says_nothing_about_the_backups_moment(vendor: Vendor) -> None:
    wants(vendor, tools.keyed)
    run = desk.drive(tools.start())
    newest = journal.events(run.ref)[-1].at
    with transaction.atomic():
        acts.record(ActKind.SIGNED_IN, actor="ada", about="person:1")
    assert restoring.restored(**WHY).recovery.since == newest - restoring.MARGIN
