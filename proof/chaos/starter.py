"""Who sends customers in: seeds an order at the vendor and starts its run, until the start is acknowledged."""

from __future__ import annotations

import random
import threading
from collections import deque
from dataclasses import dataclass, field
from typing import Any

from django.db import Error, connection

from durable import runs
from durable.models import Run
from durable.states import ENDED
from local.vendor import Vendor, VendorAway
from proof.chaos.agents import PARTS
from proof.chaos.notes import Notes

#: With so many runs on their way no other is started: the backlog of an outage stays bounded.
MOST_OPEN = 30
#: Much more was paid than is ever given back, so that the vendor's own limit stops no second refund.
PAID = "5000.00"
#: Of these an amount is asked back at the refund desk; the large one needs a person.
_SMALL, _LARGE = ("18.90", "40.00", "64.50"), ("184.50",)


@dataclass
class Customer:
    """One order, and what it asks for. `parts` are the amounts of money that may move, each once."""

    order: str
    agent: str
    parts: tuple[str, ...]
    input: dict[str, Any]


@dataclass
class Starter:
    """Starts a run every `pace` seconds. `refs` holds the newest ones that were acknowledged."""

    vendor: Vendor
    notes: Notes
    chance: random.Random
    pace: float = 0.3
    refs: deque[tuple[str, str]] = field(default_factory=lambda: deque(maxlen=60))
    _unsure: deque[Customer] = field(default_factory=deque)
    _count: int = 0

    def work(self, over: threading.Event) -> None:
        """Start runs until `over` is set; then only make sure of those that nobody has acknowledged."""
        while not over.wait(self.pace * self.chance.uniform(0.5, 1.5)):
            self._turn(new=True)

    def make_sure(self) -> bool:
        """Ask again for each start that was not acknowledged. Returns whether none is left."""
        self._turn(new=False)
        return not self._unsure

    def _turn(self, *, new: bool) -> None:
        try:
            if new and not self._unsure and self._room():
                self._unsure.append(self._customer())
            while self._unsure:
                self._start(self._unsure[0])
                self._unsure.popleft()
        except VendorAway:
            return
        except Error:
            connection.close()

    def _room(self) -> bool:
        ended = [state.value for state in ENDED]
        return Run.objects.exclude(state__in=ended).count() < MOST_OPEN

    def _customer(self) -> Customer:
        """Let somebody buy something. Raises VendorAway; then nobody has come."""
        self._count += 1
        order = f"{self.chance.randrange(10**9, 10**10)}"
        money = self.chance.choice(_LARGE if self.chance.random() < 0.25 else _SMALL)
        charge = self.vendor.charge(PAID, "EUR", order=order)
        self.vendor.order(
            order,
            customer=f"cus_{order}",
            email=f"c{order}@example.org",
            charge=charge,
            amount=money,
            currency="EUR",
            items=[{"sku": "MUG-BLUE", "quantity": 1}],
            status="delivered",
        )
        if self.chance.random() < 0.5:
            customer = Customer(order, "RefundDesk", (money,), {"order": order, "wants": "money"})
        else:
            writes = f"c{order}@example.org" if self.chance.random() < 0.3 else None
            customer = Customer(order, "Exchange", PARTS, {"order": order, "write_to": writes})
        self.notes.add("order", order=order, agent=customer.agent, charge=charge, parts=customer.parts)
        return customer

    def _start(self, customer: Customer) -> None:
        """Start a run, now and then twice. Raises what the database raises; then nobody knows whether it started."""
        key = f"order-{customer.order}"
        for _ in range(2 if self.chance.random() < 0.1 else 1):
            run = runs.start(customer.agent, customer.input, actor="shop", key=key)
            self.notes.add("started", key=key, ref=run.ref, order=customer.order)
        self.refs.append((run.ref, customer.agent))
