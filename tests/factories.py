"""Runs, effects and people for tests of the console, made by the engine's own code wherever it has some."""

from __future__ import annotations

import itertools
import secrets
from datetime import timedelta
from decimal import Decimal
from typing import Any

from django.contrib.auth.models import Group, User
from django.db import transaction

from approvals.models import Export, Gate
from durable import vault
from durable.ledger import Ask, Place, record
from durable.models import Branch, Budget, Effect, Purse, Run
from durable.models.fields import Clock
from durable.states import RunState
from durable.tools import tool
from durable.transitions import Claim, lock_run, move_run
from durable.vendor import Call, Receipt

_refs = itertools.count(1)
PASSWORD = "a long enough word"
ROLES = {
    "alice": "reviewer",
    "bob": "reviewer",
    "olga": "operator",
    "rita": "auditor",
    "ada": "admin",
    "charlie": "",
}


@tool(
    idempotent_for=timedelta(hours=24), vendor="test bank", money="amount", subject="order", secret=("iban",)
)
def pay_out(
    call: Call, order: str, amount: Decimal, currency: str, iban: str = "", note: str | None = None
) -> Receipt:
    """A refund in all but name; nothing here ever sends it."""
    raise NotImplementedError


@tool
def post_letter(call: Call, to: str, text: str) -> Receipt:
    """Declares nothing, so it is irreversible and always gated."""
    raise NotImplementedError


def person(name: str) -> User:
    """One of the cast, with their role. `charlie` has none."""
    made = User.objects.create_user(name, f"{name}@example.com", PASSWORD, first_name=name.capitalize())
    if ROLES.get(name):
        made.groups.add(Group.objects.get(name=ROLES[name]))
    return made


def cast() -> dict[str, User]:
    return {name: person(name) for name in ROLES}


def running(
    requester: str = "customer desk",
    *,
    agent: str = "refund_desk",
    limits: dict[str, int] | None = None,
    ref: str = "",
) -> Claim:
    """A run that a worker holds; limits in minor units."""
    ref = ref or f"run-t{next(_refs)}"
    budget = Budget.objects.create()
    for currency, limit in (limits or {"EUR": 10_000_000}).items():
        Purse.objects.create(budget=budget, currency=currency, limit_minor=limit)
    nonce = secrets.token_hex(4)
    run = Run.objects.create(
        ref=ref, agent=agent, input={}, input_digest="0" * 64, requester=requester, state=RunState.RUNNING.value,
        step="pay", attempt=1, nonce=nonce, worker="w1", lease_until=Clock() + timedelta(minutes=5), budget=budget,
        branch=Branch.objects.create(), due_at=None,
    )  # fmt: skip
    return Claim(run.pk, ref, 1, nonce, "w1", timedelta(minutes=5), vault.create_key(run), 0)


def propose(
    claim: Claim,
    wanted: Any = pay_out,
    *,
    ordinal: int = 1,
    step: str = "pay",
    facts: dict[str, Any] | None = None,
    **args: Any,
) -> Effect:
    """Let the run ask for an effect; whether it is gated, the engine decides."""
    run = Run.objects.get(pk=claim.run_id)
    return record(claim, run, Ask.of(wanted, args, Place(step, 1, ordinal)), facts=facts).effect


def suspend(claim: Claim) -> Run:
    with transaction.atomic():
        return move_run(lock_run(claim.run_ref), RunState.SUSPENDED)


def gate(
    requester: str = "customer desk", amount: str = "184.50", currency: str = "EUR", **more: Any
) -> Gate:
    """An open gate over a pay-out, its run suspended on it."""
    claim = running(requester)
    args = {"order": "8812", "amount": amount, "currency": currency, **more}
    effect = propose(claim, **args)
    suspend(claim)
    return Gate.objects.select_related("effect__run", "wait").get(effect=effect)


def export_of(name: str) -> Export:
    """An export of the whole ledger that this person has asked for, and nobody has made."""
    maker, _ = User.objects.get_or_create(username=name)
    made, _ = Export.objects.get_or_create(person=maker, of="ledger", form="csv", zone="UTC")
    return made
