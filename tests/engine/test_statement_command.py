"""`manage.py statement`: the statement is told and counted, whoever made it; the vendor's client is silent."""

from __future__ import annotations

import logging
from functools import partial
from typing import Any

import pytest

from durable.models import StatementRequest, VendorStatement
from durable.vendor_statements import making, matching, requests
from tests.engine.rooted import said
from tests.engine.stated import ACTOR, midnight, noon, past_us
from tests.together import at_once
from tests.vendors import Vendor

pytestmark = pytest.mark.usefixtures("kit")
COMMAND = partial(said, "statement", "--vendor", "stripe", "--actor", "rita")


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Each message by which a worker was told to look."""
    heard: list[str] = []
    monkeypatch.setattr(requests, "announce", lambda: heard.append("look"))
    return heard


def test_the_command_makes_the_statement_itself_and_wakes_no_worker(vendor: Vendor, told: list[str]) -> None:
    past_us(vendor, noon())
    code, out = COMMAND()
    made = VendorStatement.objects.get()
    assert code == 1 and f"Statement {made.pk} of stripe" in out and "at the vendor alone" in out
    assert told == []
    requests.ask("stripe", "", midnight(1), midnight(0), **ACTOR)
    assert told == ["look"]


def test_one_that_a_worker_made_first_is_told_all_the_same(
    vendor: Vendor, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempt = requests.attempt

    def second(number: int) -> Any:
        making.make(number)
        return attempt(number)

    monkeypatch.setattr(requests, "attempt", second)
    code, out = COMMAND()
    assert code == 0 and f"Statement {VendorStatement.objects.get().pk} of stripe" in out


def test_however_many_see_to_one_statement_each_has_it_and_it_is_made_once(vendor: Vendor) -> None:
    past_us(vendor, noon())
    request = requests.ask("stripe", "", midnight(1), midnight(0), **ACTOR)
    assert [one.pk for one in at_once(*[partial(requests.see_through, request.pk)] * 4)] == [request.pk] * 4
    assert len(vendor.requests("GET", "/v1/refunds")) == 1


def test_one_that_can_not_be_made_says_why(vendor: Vendor, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any) -> Any:
        raise ZeroDivisionError

    monkeypatch.setattr(matching, "write", fails)
    code, out = COMMAND()
    number = StatementRequest.objects.get().pk
    assert code == 2 and f"Statement {number} could not be made: it failed unexpectedly" in out


def test_the_vendors_client_logs_warnings_and_no_requests() -> None:
    assert logging.getLogger("stripe").getEffectiveLevel() == logging.WARNING
