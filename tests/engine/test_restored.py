"""A run that came out of a backup: the vendor may know what its ledger forgot, and is asked before anything is sent.

A real restore from a real backup is in `tests/process/test_restored_backup.py`.
"""

from __future__ import annotations

from decimal import Decimal

import pytest

from approvals.states import Verdict
from durable import claims, recovery, verdicts
from durable.errors import Conflict
from durable.states import RunState
from tests.engine import desk, people, tools
from tests.engine.restored import done_meanwhile, restored, wants
from tests.engine.scenes import FORTY, WHY
from tests.vendors import Vendor

pytestmark = pytest.mark.usefixtures("kit")
KEYED = (tools.K, tools.KS, tools.KI, tools.KN)


@pytest.mark.parametrize("kind", (*KEYED, tools.U), ids=lambda one: one.name)
def test_a_forgotten_effect_is_found_at_the_vendor_and_adopted(
    vendor: Vendor, kind: tools.VendorClass
) -> None:
    vendor.modes(**kind.modes)
    args = wants(vendor, kind.tool)
    run = tools.start()
    receipt = done_meanwhile(run, args)
    restored()
    run = desk.drive(run)
    assert run.state == RunState.COMPLETED
    assert vendor.moved() == FORTY
    assert tools.kinds(run) == ["intent", "adopted"]
    assert tools.effect(run).receipt_id == receipt


@pytest.mark.parametrize("kind", (tools.K, tools.U), ids=lambda one: one.name)
def test_without_the_recovery_the_same_run_asks_no_vendor_before_it_sends(
    vendor: Vendor, kind: tools.VendorClass
) -> None:
    vendor.modes(**{**kind.modes, "keys": "ignore"})
    args = wants(vendor, kind.tool)
    run = tools.start()
    done_meanwhile(run, args)
    desk.drive(run)
    assert vendor.moved() == FORTY * 2


@pytest.mark.parametrize("kind", KEYED, ids=lambda one: one.name)
def test_what_was_not_forgotten_is_sent_once_a_miss_counts(vendor: Vendor, kind: tools.VendorClass) -> None:
    vendor.modes(**kind.modes)
    wants(vendor, kind.tool)
    run = tools.start()
    restored()
    run = desk.drive(run)
    assert run.state == RunState.SUSPENDED
    assert vendor.requests("POST") == []
    run = tools.later(run, seconds=80)
    assert run.state == RunState.COMPLETED
    assert vendor.moved() == FORTY
    assert set(tools.kinds(run)) == {"intent", "looked up", "sent", "applied"}


def test_a_key_as_old_as_the_backup_is_not_trusted_after_half_its_life(vendor: Vendor) -> None:
    wants(vendor)
    run = tools.start()
    restored()
    desk.drive(run)
    run = tools.later(run, hours=12, minutes=1)
    assert desk.effects(run) == {"pay": "in doubt"}
    assert vendor.requests("POST") == []


@pytest.mark.parametrize("kind", (tools.U, tools.O), ids=lambda one: one.name)
def test_without_keys_a_person_says_whether_it_happened_and_is_asked_once(
    vendor: Vendor, kind: tools.VendorClass
) -> None:
    vendor.modes(**kind.modes)
    wants(vendor, kind.tool)
    run = tools.start()
    restored()
    desk.drive(run)
    run = tools.later(run, minutes=2)
    assert desk.effects(run) == {"pay": "in doubt"}
    verdicts.did_not(f"{run.ref}:pay", **WHY)
    run = desk.drive(run)
    assert desk.effects(run) == {"pay": "withdrawn", "pay~2": "gated"}
    assert vendor.requests("POST") == []
    people.say(run)
    run = desk.drive(run)
    assert run.state == RunState.COMPLETED
    assert vendor.moved() == FORTY


def test_without_a_look_up_what_did_happen_is_settled_by_its_receipt(vendor: Vendor) -> None:
    args = wants(vendor, tools.opaque)
    run = tools.start()
    receipt = done_meanwhile(run, args)
    restored()
    run = desk.drive(run)
    assert desk.effects(run) == {"pay": "in doubt"}
    verdicts.happened(f"{run.ref}:pay", receipt_id=receipt, **WHY)
    assert desk.drive(run).state == RunState.COMPLETED
    assert vendor.moved() == FORTY


def test_what_a_person_is_asked_about_is_adopted_once_the_vendor_shows_it(vendor: Vendor) -> None:
    vendor.modes(keys="ignore", lookup_lag=10_000)
    args = wants(vendor, tools.unkeyed)
    run = tools.start()
    done_meanwhile(run, args)
    restored()
    desk.drive(run)
    run = tools.later(run, minutes=2)
    assert desk.effects(run) == {"pay": "in doubt"}
    vendor.modes(lookup_lag=0)
    run = tools.later(run, hours=1)
    assert run.state == RunState.COMPLETED
    assert vendor.moved() == FORTY


def test_another_payload_than_the_forgotten_one_is_put_before_a_person(vendor: Vendor) -> None:
    vendor.modes(mismatch="new_object")
    args = wants(vendor)
    run = tools.start()
    done_meanwhile(run, args, amount="25.00")
    restored()
    run = desk.drive(run)
    assert desk.effects(run) == {"pay": "in doubt"}
    assert tools.attention(run)[0].endswith("under our key, but the amount is 25.00.")
    assert vendor.moved() == [Decimal("25.00")]


def test_a_vendor_that_can_not_say_after_a_restore_is_not_sent_to(vendor: Vendor) -> None:
    wants(vendor)
    run = tools.start()
    restored()
    vendor.fault("status", status=500, method="GET", path="/v1/refunds", times=0)
    run = desk.drive(run)
    for _ in range(3):
        run = tools.later(run, minutes=10)
    assert desk.effects(run) == {"pay": "pending"}
    run = tools.later(run, hours=5)
    assert desk.effects(run) == {"pay": "in doubt"}
    assert vendor.requests("POST") == []


# Effects that the backup holds.


def test_a_gate_of_the_backup_is_adopted_where_its_effect_was_done_meanwhile(vendor: Vendor) -> None:
    args = wants(vendor, tools.keyed, "140.00")
    run = desk.drive(tools.start())
    assert desk.effects(run) == {"pay": "gated"}
    done_meanwhile(run, args)
    restored()
    run = desk.drive(run)
    assert run.state == RunState.COMPLETED
    assert people.gates(run) == []
    assert vendor.moved() == [Decimal("140.00")]


def test_a_gate_of_the_backup_stands_where_nothing_was_done(vendor: Vendor) -> None:
    wants(vendor, tools.keyed, "140.00")
    run = desk.drive(tools.start())
    gate = people.gates(run)[0]
    restored()
    desk.drive(run)
    run = tools.later(run, minutes=2)
    assert [one.pk for one in people.gates(run)] == [gate.pk]
    people.say(run)
    assert desk.drive(run).state == RunState.COMPLETED
    assert vendor.moved() == [Decimal("140.00")]


def test_an_approval_of_the_backup_lets_nothing_out_before_the_look_up(vendor: Vendor) -> None:
    args = wants(vendor, tools.keyed, "140.00")
    run = desk.drive(tools.start())
    people.say(run)
    done_meanwhile(run, args)
    vendor.modes(keys="ignore")
    restored()
    run = desk.drive(run)
    assert run.state == RunState.COMPLETED
    assert vendor.moved() == [Decimal("140.00")]
    assert "sent" not in tools.kinds(run)


def test_what_needed_people_before_needs_them_after_the_look_up_too(vendor: Vendor) -> None:
    wants(vendor, tools.keyed, "140.00")
    run = tools.start()
    restored()
    desk.drive(run)
    run = tools.later(run, minutes=2)
    assert desk.effects(run) == {"pay": "gated"}
    assert vendor.requests("POST") == []


def test_a_request_that_could_not_be_sent_before_the_backup_may_have_been_sent_after_it(
    vendor: Vendor,
) -> None:
    args = wants(vendor)
    vendor.fault("status", status=429, retry_after=30, method="POST", path="/v1/refunds")
    run = desk.drive(tools.start())
    assert tools.kinds(run) == ["intent", "sent", "not sent"]
    done_meanwhile(run, args)
    vendor.modes(keys="ignore")
    restored()
    run = tools.later(run, seconds=40)
    assert run.state == RunState.COMPLETED
    assert vendor.moved() == FORTY


def test_a_worker_of_the_backup_has_lost_its_run(vendor: Vendor) -> None:
    wants(vendor)
    run = tools.start()
    claim = claims.claim(run.ref)
    assert claim is not None
    restored()
    run = desk.drive(run)
    assert run.attempt == 2
    assert desk.effects(run) == {"pay": "pending"}


def test_a_gate_of_the_backup_does_not_expire_over_what_was_done_meanwhile(vendor: Vendor) -> None:
    args = wants(vendor, tools.keyed, "140.00")
    run = desk.drive(tools.start())
    receipt = done_meanwhile(run, args)
    restored()
    desk.time_passes(days=4)
    recovery.sweep()
    run = desk.drive(run)
    assert run.state == RunState.COMPLETED
    assert desk.effects(run) == {"pay": "applied"}
    assert tools.effect(run).receipt_id == receipt


def test_nobody_refuses_what_may_have_been_done_before_it_is_looked_up(vendor: Vendor) -> None:
    wants(vendor, tools.keyed, "140.00")
    run = desk.drive(tools.start())
    restored()
    with pytest.raises(Conflict, match="looked up first"):
        people.say(run, Verdict.REJECT, words="too much")
    desk.drive(run)
    run = tools.later(run, minutes=2)
    people.say(run, Verdict.REJECT, words="too much")
    assert desk.effects(desk.drive(run)) == {"pay": "rejected"}
    assert vendor.moved() == []


def test_a_gate_of_which_nothing_was_forgotten_expires_after_the_look_up(vendor: Vendor) -> None:
    wants(vendor, tools.keyed, "140.00")
    run = desk.drive(tools.start())
    restored()
    desk.drive(run)
    run = tools.later(run, minutes=2)
    desk.time_passes(days=4)
    recovery.sweep()
    assert desk.effects(desk.drive(run)) == {"pay": "expired"}
