"""Reasons that may name somebody: nothing of a person is left in those that stand in clear."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.urls import reverse

from approvals.models import Gate
from durable import runs, stops
from durable.author import Call, Next, Receipt, RunContext, step, tool
from durable.concerned import Called
from durable.errors import VendorRefused
from durable.models import Recovery, Run, Stop
from durable.models.fields import Clock
from durable.states import RunState
from tests.engine import agents, desk, people
from tests.engine.erasure import MAIL, erase, holds_canary, kept_outside, left
from tests.engine.scenes import WHY

__all__ = ["kept_outside"]

pytestmark = pytest.mark.django_db(transaction=True)
HERS = [Called("customer", MAIL)]


def same() -> str:
    """The address is the one that it was."""
    return MAIL


def another() -> str:
    """The address has changed meanwhile."""
    return f"new.{MAIL}"


def unknown() -> str:
    """The vendor knows no such customer any more, and says whom it means."""
    raise VendorRefused("gone", f"{MAIL} has left us")


address: list[Callable[[], str]] = [same]


@tool(vendor="test mail", subject={"customer": "to"})
def post(call: Call, to: str) -> Receipt:
    """Asks people first, and looks once more before it goes."""
    return Receipt(f"letter {call.key}", key=call.key)


@post.recheck
def facts(call: Call) -> dict[str, Any]:
    """The customer's address."""
    return {"address": address[0]()}


def asked_again(now: Callable[[], str]) -> tuple[Run, Gate]:
    """A run whose facts no longer hold once people have said yes, and the gate that says so."""

    @step
    def act(self: Any, run: RunContext) -> Next:
        run.effect(post, to=MAIL)
        return None

    address[0] = same
    run = desk.drive(agents.run_of(act))
    people.say(run)
    address[0] = now
    desk.drive(run)
    (gate,) = people.gates(run)
    assert gate.round == 2
    return run, gate


def ended(run: Run) -> Run:
    """The run, cancelled: what is under way is not erased."""
    runs.cancel(run.ref, **WHY)
    assert desk.drive(run).state == RunState.CANCELLED
    return run


@pytest.mark.parametrize("now", [another, unknown])
def test_why_people_are_asked_again_is_shown_on_the_page_and_gone_after_an_erasure(
    now: Callable[[], str],
) -> None:
    run, gate = asked_again(now)
    assert gate.reason.startswith("what it rests on ") and not holds_canary(gate.reason)
    alice = Client()
    alice.force_login(people.person("alice"))
    page = alice.get(reverse("gate", args=[gate.pk])).content.decode()
    assert (f"new.{MAIL}" if now is another else f"{MAIL} has left us") in page
    ended(run)
    erase(HERS)
    assert left() == []


def test_what_an_older_version_wrote_on_a_gate_is_taken_out_of_it() -> None:
    gate = asked_again(another)[1]
    twin = "; run-1m8 has asked for the same already: run-1m8:pay is applied"
    written = f"what it rests on has changed: address was {MAIL}, is new.{MAIL}{twin}"
    Gate.objects.filter(pk=gate.pk).update(reason=written)
    with connection.cursor() as cursor:
        cursor.execute(import_module("approvals.migrations.0013_gates_without_facts").TAKE_OUT)
    gate.refresh_from_db()
    assert gate.reason == f"what it rests on has changed{twin}"


def test_why_a_stop_was_ordered_or_a_restore_begun_goes_where_it_names_somebody() -> None:
    ended(asked_again(another)[0])
    hers = stops.order("tool", "pay", actor="olga", reason=f"{MAIL} was paid twice")
    other = stops.order("tool", "post", actor="olga", reason="the vendor is down")
    begun = Recovery.objects.create(since=Clock(), actor="olga", reason=f"to find {MAIL} again")
    assert len(left()) == 2
    erase(HERS)
    assert left() == []
    kept = [Stop.objects.get(pk=one.pk).reason for one in (hers, other)]
    assert kept == ["(erased)", "the vendor is down"]
    assert Recovery.objects.get(pk=begun.pk).reason == "(erased)"
