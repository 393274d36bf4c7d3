"""An answer is written once, even where the database's word that it is written never comes."""

from __future__ import annotations

import pytest
from django.db import OperationalError

from durable import faults
from durable.errors import VendorRefused
from durable.states import RunState
from durable.vendor import Call
from tests.engine import desk, tools
from tests.engine.scenes import FORTY, crash_before_the_wire, refund
from tests.vendors import Vendor

pytestmark = pytest.mark.usefixtures("kit")


def unheard() -> None:
    """The commit came through; the connection broke before its answer."""
    raise OperationalError("server closed the connection unexpectedly")


def test_an_answer_whose_commit_went_unheard_is_no_error_of_the_step(vendor: Vendor) -> None:
    run = refund(vendor)
    faults.arm("outcome.after_commit", unheard)
    run = desk.drive(run)
    assert (run.state, run.attempt) == (RunState.COMPLETED, 1)
    assert tools.kinds(run) == ["intent", "sent", "applied"]
    assert vendor.moved() == FORTY


def test_a_refusal_whose_commit_went_unheard_reaches_the_step_as_one(vendor: Vendor) -> None:
    def no(call: Call) -> None:
        raise VendorRefused("card_declined", "no")

    run = refund(vendor)
    tools.before.append(no)
    faults.arm("outcome.after_commit", unheard)
    run = desk.drive(run)
    assert tools.kinds(run) == ["intent", "sent", "failed"]
    assert [type(one).__name__ for one in tools.got] == ["EffectFailed"]


def test_a_refusal_that_is_written_twice_does_not_answer_for_an_earlier_request(vendor: Vendor) -> None:
    def no(call: Call) -> None:
        raise VendorRefused("card_declined", "no")

    run = refund(vendor)
    crash_before_the_wire(run)
    tools.before.append(no)
    faults.arm("outcome.after_commit", unheard)
    desk.drive(run)
    assert tools.kinds(run).count("no answer") == 1
    assert "failed" not in tools.kinds(run)
    assert tools.effect(run).open_sends == 1
