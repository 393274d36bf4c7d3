"""What these tests do again and again: a ticket of a customer of its own, an answer at a gate, a look at the end."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import dj_database_url
from django.contrib.auth.models import User
from django.db import connections
from django.test import Client
from django.urls import reverse
from kombu import pools

from approvals.models import Gate
from approvals.people import demo_people
from durable import runs
from durable.celery import app
from durable.models import Effect, Run
from durable.states import EffectState, RunState
from durable.wakeup import DRIVE
from local.throwaway import ThrowAway
from tests.approvals.answering import answer
from tests.vendors import Vendor

PATIENCE = 60.0


class Ticket:
    """One customer's order, charge and run."""

    def __init__(self, vendor: Vendor, name: str, *, paid: str = "40.00") -> None:
        self.charge = vendor.seed_charge(paid, "EUR")
        vendor.seed_order(name, paid, "EUR", charge=self.charge, customer=f"cus_{name}")
        self.name, self._vendor = name, vendor
        self.run: Run

    def start(self, **more: Any) -> Ticket:
        """Start its run: money for the whole order, unless `more` says otherwise."""
        self.run = runs.start("RefundDesk", {"order": self.name, "wants": "money", **more}, actor="tests")
        return self

    def moved(self) -> list[Decimal]:
        """What the vendor's book says about its charge."""
        return [Decimal(one["amount"]) for one in self._vendor.book() if one["target"] == self.charge]

    def state(self) -> str:
        self.run.refresh_from_db()
        return self.run.state

    def ended(self) -> bool:
        return self.state() == RunState.COMPLETED

    def waits(self) -> bool:
        return self.state() == RunState.SUSPENDED

    def sent(self) -> bool:
        """Whether a request is out and unanswered."""
        return Effect.objects.filter(run=self.run, state=EffectState.PENDING, open_sends=1).exists()


def approve(ticket: Ticket) -> None:
    """Say yes at the gate of a ticket's run, as a reviewer."""
    demo_people()
    gate = Gate.objects.select_related("effect__run").get(effect__run=ticket.run, state="open")
    answer(User.objects.get(username="marta"), gate)


def signed_in(ticket: Ticket) -> tuple[Client, tuple[str, dict[str, Any]]]:
    """A reviewer's browser, and the answer that it is about to give at a ticket's gate."""
    demo_people()
    browser = Client(raise_request_exception=False)
    browser.force_login(User.objects.get(username="marta"))
    gate = Gate.objects.get(effect__run=ticket.run)
    given = {"verdict": "approve", "digest": gate.digest, "round": gate.round}
    return browser, (reverse("decisions", args=[gate.pk]), given)


def hint(ticket: Ticket, queue: str) -> None:
    """Tell the workers of one queue about a run."""
    app.send_task(DRIVE, [ticket.run.ref], queue=queue)


def until(
    ready: Callable[[], bool], what: str, said: Callable[[], str] = lambda: "", seconds: float = PATIENCE
) -> float:
    """Wait; returns the seconds that it took. Fails with what the processes said."""
    began = time.monotonic()
    while not ready():
        assert time.monotonic() - began < seconds, f"{seconds:g} s were not enough for {what}\n{said()}"
        time.sleep(0.05)
    return time.monotonic() - began


@contextlib.contextmanager
def database(url: str) -> Iterator[None]:
    """This process speaks to another database for the block."""
    connection: Any = connections["default"]
    connection.close()
    before = dict(connection.settings_dict)
    found = dj_database_url.parse(url)
    connection.settings_dict.update({n: found[n] for n in ("NAME", "USER", "PASSWORD", "HOST", "PORT")})
    try:
        yield
    finally:
        connection.close()
        connection.settings_dict.update(before)


@contextlib.contextmanager
def broker(url: str) -> Iterator[None]:
    """This process's messages go to another broker for the block."""
    before = app.conf.broker_url
    _point_at(url)
    try:
        yield
    finally:
        _point_at(before)


def _point_at(url: str) -> None:
    celery: Any = app  # its types know neither the pools nor that settings may change
    celery.pool.force_close_all()
    celery.amqp.producer_pool.force_close_all()
    celery.conf.broker_url = url
    celery.conf.broker_write_url = celery.conf.broker_read_url = url
    pools.reset()  # else the next publish would get a closed pool out of kombu's own registry
    celery._pool = None
    celery.amqp._producer_pool = None


def addresses(services: ThrowAway) -> dict[str, str]:
    """The settings that point a process at these services. Their keys are those of the tests."""
    wanted = ("DATABASE_URL", "DATABASE_OWNER_URL", "CELERY_BROKER_URL")
    return {name: value for name, value in services.settings().items() if name in wanted}
