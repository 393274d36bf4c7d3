"""The demonstration: people to sign in as, and a stream of tickets for the refund desk to handle.

Everything goes through the product's doors: people as an admin would make them, orders and charges at the vendor's own
API, runs through `runs.start`. Now and then the vendor misbehaves, so that reconciling is seen.
"""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Iterator
from threading import Event
from typing import Any

from django.conf import settings
from django.db import Error, connection

from durable import acts, runs
from durable.errors import UnknownAgent
from durable.journal import ENGINE
from durable.models import Run, Wait
from durable.states import WaitKind, WaitState
from local import keys, tickets
from local.tickets import SCENES, Scene
from local.vendor import Vendor, VendorAway

#: Who the runs are asked for by. No reviewer: nobody approves what they asked for themselves.
REQUESTER = "shop"
BURST = 12
#: The order of the README's `manage.py start`: it is there from the first burst on, whatever chance names the others.
EXAMPLE = "8812"
#: Seconds between two tickets, first and after `_LIVELY` seconds: a day of running must not fill a disk.
_PACE, _SLOW_PACE, _LIVELY = 4.0, 30.0, 600.0
#: With so many gates open no further ticket is written that would need a person.
MOST_OPEN_GATES = 20
_FAULTS: dict[str, dict[str, Any]] = {
    "drop": {"method": "POST"},
    "hang": {"method": "POST", "acts": True, "seconds": 4.0},
    "error": {"method": "POST", "acts": True, "saved": False},
}


def people() -> list[str]:
    """Make the demonstration's people, with the password of this data folder. Returns lines that say how to sign in:
    as whom that password still lets in, with the role that they have now.
    """
    from approvals.people import demo_people, let_in

    password = keys.load(settings.INTERLOCK_DATA)["demo"]
    with acts.naming(ENGINE):
        demo_people(password)
    if found := let_in(password):
        return [f"Sign in as {_named(found)}", f"Password of each: {password}"]
    return _FIRST


def no_demo() -> list[str]:
    """Returns lines that say how people get in without the demonstration, and who of an earlier one still does."""
    from django.contrib.auth.models import User

    from approvals.people import let_in

    if found := let_in(keys.load(settings.INTERLOCK_DATA)["demo"]):
        off = ", ".join(user.username for user in found)
        return [
            f"People of an earlier demonstration can sign in: {off}",
            "Switch each off: manage.py person NAME --off",
        ]
    return [] if User.objects.filter(is_active=True).exists() else _FIRST


_FIRST = ["Nobody can sign in yet: manage.py person NAME --new --role admin"]


def _named(users: list[Any]) -> str:
    from approvals import access

    return ", ".join(f"{user.username} ({access.role(user).lower()})" for user in users)


_NO_DESK = (
    "no tickets come: their agent is not there; name durable.agents.refund_desk in INTERLOCK_AGENTS "
    "beside your own modules, or start with --no-demo"
)


def stream() -> None:
    """Write tickets for as long as the process lives: a burst if there are no runs yet, then one every few seconds."""
    vendor, began = Vendor(settings.SHOP_API_BASE), time.monotonic()
    scenes = _endless()
    first = BURST
    while True:
        try:
            if first and Run.objects.exists():
                first = 0  # a restart: the data are still there
            if first:
                place_order(vendor, tickets.EXAMPLE, EXAMPLE, tickets.customer(random.Random()))
            for _ in range(first or 1):
                write_ticket(vendor, next(scenes))
            first = 0
        except UnknownAgent:
            print(_NO_DESK, flush=True)
            Event().wait()  # until it is told to end: one that ended would be started again
        except VendorAway as error:
            print(f"the vendor is away: {error}", flush=True)
        except Error as error:
            print(f"the database is away: {type(error).__name__}", flush=True)
            connection.close()
        time.sleep(_PACE if time.monotonic() - began < _LIVELY else _SLOW_PACE)


def write_ticket(vendor: Vendor, scene: Scene) -> Run:
    """Let a customer buy something and complain about it: one order at the vendor, one run."""
    chance = random.Random()  # a demonstration, no secret
    who, name = tickets.customer(chance), str(chance.randrange(10_000_000, 100_000_000))
    charge = place_order(vendor, scene, name, who)
    if scene.fault:
        # A refund names its charge, a reservation its order: the rule fires for this ticket alone.
        contains = charge if scene.wants == "money" else name
        vendor.fault(scene.fault, contains=contains, **_FAULTS[scene.fault])
    return runs.start("RefundDesk", tickets.ticket(scene, name, who), actor=REQUESTER, key=f"ticket-{name}")


def place_order(vendor: Vendor, scene: Scene, name: str, who: tuple[str, str]) -> str:
    """Let a customer have bought something. Returns the charge."""
    charge = vendor.charge(scene.paid, scene.currency, order=name)
    vendor.order(name, **tickets.order(scene, name, who, charge))
    return charge


def _endless() -> Iterator[Scene]:
    """Every scene in turn; those that need a person only while people keep up."""
    for scene in itertools.cycle(SCENES):
        if scene.waits and open_gates() >= MOST_OPEN_GATES:
            continue
        yield scene


def open_gates() -> int:
    """Return how many gates wait for people."""
    return Wait.objects.filter(kind=WaitKind.GATE.value, state=WaitState.OPEN.value).count()
