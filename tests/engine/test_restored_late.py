"""A run out of a backup, a vendor that shows what was done too late, and a key that grows old meanwhile."""

from __future__ import annotations

from decimal import Decimal

import pytest

from durable import verdicts
from durable.models import Run
from durable.states import RunState
from tests.engine import desk, people, tools
from tests.engine.restored import done_meanwhile, restored, wants
from tests.engine.scenes import FORTY, WHY
from tests.vendors import Vendor

pytestmark = pytest.mark.usefixtures("kit")


def missed(vendor: Vendor) -> Run:
    """A gated run out of a backup: what it had done was not shown when it was looked up, and its key dies meanwhile."""
    args = wants(vendor, tools.keyed, "140.00")
    run = desk.drive(tools.start())
    done_meanwhile(run, args)
    vendor.modes(lookup_lag=60)
    restored()
    desk.drive(run)
    run = tools.later(run, minutes=2)
    assert desk.effects(run) == {"pay": "gated"}
    desk.time_passes(hours=13)
    vendor.modes(keys="ignore")
    people.say(run)
    return run


def test_what_a_miss_let_go_on_is_looked_up_once_more_when_its_key_is_old(vendor: Vendor) -> None:
    run = missed(vendor)
    vendor.modes(lookup_lag=0)
    assert desk.drive(run).state == RunState.COMPLETED
    assert vendor.moved() == [Decimal("140.00")]
    assert tools.kinds(run)[-1] == "adopted"


def test_what_is_still_not_shown_when_its_key_is_old_is_not_sent_but_put_before_a_person(
    vendor: Vendor,
) -> None:
    run = desk.drive(missed(vendor))
    assert desk.effects(run) == {"pay": "in doubt"}
    assert vendor.moved() == [Decimal("140.00")]
    verdicts.did_not(f"{run.ref}:pay", **WHY)
    assert desk.effects(desk.drive(run)) == {"pay": "withdrawn", "pay~2": "gated"}


def test_a_vendor_that_is_away_does_not_make_a_key_young_again(vendor: Vendor) -> None:
    args = wants(vendor)
    run = tools.start()
    done_meanwhile(run, args)
    vendor.modes(lookup_lag=60)
    restored()
    desk.drive(run)
    vendor.fault("status", status=429, retry_after=30, method="POST", path="/v1/refunds")
    run = tools.later(run, minutes=2)
    assert tools.kinds(run)[-2:] == ["sent", "not sent"]
    vendor.modes(keys="ignore")
    run = tools.later(run, hours=13)
    assert desk.effects(run) == {"pay": "in doubt"}
    assert vendor.moved() == FORTY
