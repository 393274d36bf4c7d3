"""A true history, small: two runs by the product itself, with what a crowd would have noted of them."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.core import mail
from django.db import connection

from approvals.models import Gate
from approvals.people import demo_people
from durable import plan, runner, runs
from durable.models import Run
from durable.states import RunState
from proof.chaos import agents, history
from proof.chaos.history import History
from tests.approvals.answering import answer
from tests.vendors import Vendor

#: A desk order above the limit, with a letter, and an exchange with a letter.
DESK, EXCHANGE = "100", "200"


def made(vendor: Vendor, folder: Path) -> History:
    """Let both runs happen, and read what is left of them."""
    plan.agents()
    demo_people()
    notes: list[dict[str, Any]] = []
    for order, agent, more in (
        (DESK, "RefundDesk", {"wants": "money", "reply_to": "a@example.org"}),
        (EXCHANGE, agents.Exchange.name, {"write_to": "b@example.org"}),
    ):
        charge = vendor.seed_charge("5000.00", "EUR")
        vendor.seed_order(order, "184.50", "EUR", charge=charge, customer=f"cus_{order}")
        run = runs.start(agent, {"order": order, **more}, actor="shop", key=f"order-{order}")
        parts = agents.PARTS if agent == "Exchange" else ("184.50",)
        notes.append({"kind": "order", "order": order, "agent": agent, "charge": charge, "parts": parts})
        notes.append({"kind": "started", "key": f"order-{order}", "ref": run.ref, "order": order})
        notes += _to_its_end(run)
    connection.ensure_connection()
    found = history.read(connection.connection, vendor.book(), folder, folder / "notes", [])
    found.notes = notes
    found.letters = [str(letter.extra_headers["Message-ID"]) for letter in mail.outbox]
    found.seen = [(event["run_ref"], event["no"], event["hash"]) for event in found.events]
    return deepcopy(found)


def _to_its_end(run: Run) -> list[dict[str, Any]]:
    """Drive a run, and say yes wherever it waits. Returns what the reviewer noted."""
    noted: list[dict[str, Any]] = []
    while True:
        runner.drive(run.ref)
        run.refresh_from_db()
        if run.state == RunState.COMPLETED:
            return noted
        gate = Gate.objects.select_related("effect__run").get(effect__run=run, state="open")
        answer(User.objects.get(username="marta"), gate)
        told = {"gate": gate.pk, "person": "marta", "verdict": "approve", "digest": gate.digest}
        noted.append({"kind": "decision", **told})
