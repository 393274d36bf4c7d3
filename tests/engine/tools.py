"""Tools for six classes of vendor, all on the real stand-in, and agents that ask for what a test has scripted.

The vendor's book says what moved; nothing here is asked about that. `kit` empties all of it for each test, and
holds at its end the money and the chains of every run against what the rows add up to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from durable import faults, journal, recovery, runs, sending, vault, waits
from durable.adapters import mail, stock, stripe_refunds
from durable.author import (
    Agent,
    Budget,
    Call,
    EffectFailed,
    EffectRefused,
    Money,
    Next,
    Receipt,
    RunContext,
    hours,
    minutes,
    seconds,
    step,
    tool,
)
from durable.context import wish
from durable.models import Effect, Run
from durable.states import WaitKind
from durable.tools import Tool
from tests.engine import desk
from tests.engine.held import check_chains, check_purses
from tests.vendors import Vendor

#: What the next execution of a step asks for, by the name that the run's input gives.
script: dict[str, list[tuple[Tool, dict[str, Any]]]] = {}
#: Receipts and refusals that steps got, in order.
got: list[Any] = []
#: Called before a request goes out, and after its answer has come (may return another receipt, or raise).
before: list[Callable[[Call], object]] = []
after: list[Callable[[Call, Receipt], Receipt | None]] = []
#: What the tools' rechecks read.
world: dict[str, Any] = {}


def _refund(call: Call, charge: str, amount: Decimal, currency: str = "EUR") -> Receipt:
    for act in before:
        act(call)
    receipt = stripe_refunds.refund(call, charge, amount, currency, "")
    for change in after:
        receipt = change(call, receipt) or receipt
    return receipt


def _claw_back(call: Call) -> Receipt:
    """Stands for a hand-written undo: the stock service's book shows it, under the undo's key."""
    return stock.reserve(call, "CLAWBACK", 1, "8812")


@tool(vendor="bank", idempotent_for=hours(24), money="amount", target="charge")
def keyed(call: Call, charge: str, amount: Decimal, currency: str = "EUR") -> Receipt:
    """Classes K, KI and KN: the vendor honours keys for a day, and can be asked."""
    return _refund(call, charge, amount, currency)


keyed.lookup(stripe_refunds.find_refund)


@tool(vendor="bank", idempotent_for=minutes(15), money="amount", target="charge")
def keyed_briefly(call: Call, charge: str, amount: Decimal, currency: str = "EUR") -> Receipt:
    """Class KS: keys live for a quarter of an hour."""
    return _refund(call, charge, amount, currency)


keyed_briefly.lookup(stripe_refunds.find_refund)


@tool(vendor="bank", money="amount", target="charge", lookup_lag=seconds(5), in_flight=seconds(30))
def unkeyed(call: Call, charge: str, amount: Decimal, currency: str = "EUR") -> Receipt:
    """Class U: no keys, and a look-up that lags."""
    return _refund(call, charge, amount, currency)


unkeyed.lookup(stripe_refunds.find_refund)
unkeyed.undo(_claw_back)


@tool(vendor="bank", money="amount", in_flight=seconds(30))
def opaque(call: Call, charge: str, amount: Decimal, currency: str = "EUR") -> Receipt:
    """Class O: no keys, and nobody to ask."""
    return _refund(call, charge, amount, currency)


opaque.undo(_claw_back)


#: The vendor honours keys for the act, and none for its undo.
one_way = tool(name="one_way", vendor="bank", idempotent_for=hours(24), money="amount")(_refund)
one_way.undo(_claw_back)


@tool(vendor="bank", money="amount", in_flight=seconds(30))
def wire_out(call: Call, charge: str, amount: Decimal, currency: str = "EUR") -> Receipt:
    """Neither replayed safely nor undone: people are asked every time."""
    return _refund(call, charge, amount, currency)


wire_out.lookup(stripe_refunds.find_refund)


@wire_out.recheck
def _facts(call: Call) -> dict[str, Any]:
    return {name: value for name, value in world.items() if not isinstance(value, Exception)} | _bad()


def _bad() -> dict[str, Any]:
    for value in world.values():
        if isinstance(value, Exception):
            raise value
    return {}


@tool(vendor="bank", idempotent_for=hours(24), money="amount", once_per=("order",), subject="order")
def once(call: Call, order: str, charge: str, amount: Decimal, currency: str = "EUR") -> Receipt:
    """One refund an order, whichever run asks for it."""
    return _refund(call, charge, amount, currency)


once.lookup(stripe_refunds.find_refund)


@tool(vendor="mail", subject={"customer": "to"})
def letter(call: Call, to: str, subject: str = "Your order", body: str = "It is done.") -> Receipt:
    """Irreversible: gated, every time."""
    return mail.send_email(call, to, subject, body)


def _set_aside(call: Call, sku: str) -> Receipt:
    for act in before:
        act(call)
    return stock.reserve(call, sku, 1, "8812")


def _put_back(call: Call) -> Receipt:
    assert call.undoes is not None
    for act in before:
        act(call)
    return stock.release_reservation(call, call.undoes)


@tool(vendor="stock", lookup_lag=seconds(5), in_flight=seconds(30))
def set_aside(call: Call, sku: str) -> Receipt:
    """Compensable; its undo may be repeated."""
    return _set_aside(call, sku)


set_aside.lookup(stock.find_reservation)
set_aside.undo(_put_back, lookup=stock.find_release, idempotent_for=hours(24 * 365))


@tool(vendor="stock", in_flight=seconds(30))
def rest_on_it(call: Call, sku: str) -> Receipt:
    """Compensable; its undo needs that of `set_aside` to have worked."""
    return _set_aside(call, sku)


rest_on_it.undo(
    _put_back, lookup=stock.find_release, idempotent_for=hours(24 * 365), depends_on=("set_aside",)
)


@tool(vendor="stock", in_flight=seconds(30))
def pledge(call: Call, sku: str) -> Receipt:
    """Compensable; its undo can't be repeated, so that people are asked before it."""
    return _set_aside(call, sku)


pledge.undo(_put_back, lookup=stock.find_release)


@dataclass(frozen=True)
class VendorClass:
    """A class of vendor: the tool that declares it, and the stand-in's switches that make it so."""

    name: str
    tool: Tool
    modes: dict[str, Any] = field(default_factory=dict)


K = VendorClass("keyed", keyed)
KS = VendorClass("keyed for a short time", keyed_briefly, {"key_life": 900})
KI = VendorClass("keyed, other bodies ignored", keyed, {"mismatch": "ignore_body"})
KN = VendorClass("keyed, another body is a new act", keyed, {"mismatch": "new_object"})
U = VendorClass("no keys, lagging look-up", unkeyed, {"keys": "ignore"})
O = VendorClass("no keys, opaque", opaque, {"keys": "ignore"})  # noqa: E741  # its name in the catalogue
CLASSES = (K, KS, KI, KN, U, O)


class Payer(Agent):
    """Asks one by one for what its script says, in one step."""

    budget = Budget(steps=100, money=(Money(500, "EUR"), Money(60_000, "JPY")), deadline=hours(24 * 30))

    @step(retries=3)
    def pay(self, run: RunContext) -> Next:
        done = []
        for wanted, args in script[run.input["script"]]:
            try:
                receipt = run.effect(wanted, **args)
                got.append(receipt)
                done.append(receipt.id)
            except (EffectRefused, EffectFailed) as no:
                got.append(no)
                done.append(str(no))
        run.state["done"] = done
        return self.rest

    @step
    def rest(self, run: RunContext) -> Next:
        return None


class Crowd(Agent):
    """Asks for all of its script at once."""

    budget = Payer.budget

    @step(retries=3)
    def pay(self, run: RunContext) -> Next:
        got[:] = run.effects(*(wish(wanted, **args) for wanted, args in script[run.input["script"]]))
        return None


def asks(*wanted: tuple[Tool, dict[str, Any]], name: str = "main") -> None:
    """Script what the next execution asks for."""
    script[name] = list(wanted)


def start(agent: str = "Payer", name: str = "main", key: str | None = None) -> Run:
    return runs.start(agent, {"script": name}, actor="tests", key=key)


def later(run: Run, **length: float) -> Run:
    """Let time pass, sweep as the beat would, and drive the run on."""
    desk.time_passes(**length)
    recovery.sweep()
    return desk.drive(run)


def effect(run: Run, key: str = "pay") -> Effect:
    return Effect.objects.get(key=f"{run.ref}:{key}")


def kinds(run: Run, key: str = "pay") -> list[str]:
    """The ledger's events about one effect, in order."""
    return [event.kind for event in journal.events(run.ref, effect_key=f"{run.ref}:{key}")]


def words(run: Run, kind: str, key: str = "pay") -> str:
    """What the newest event of a kind says, unsealed."""
    told = journal.events(run.ref, effect_key=f"{run.ref}:{key}")
    newest = [event for event in told if event.kind == kind][-1]
    return str(vault.read(newest.detail.sealed))


def attention(run: Run) -> list[str]:
    """Why people must look at a run, in the words that they read."""
    waiting = waits.open_waits(run, WaitKind.ATTENTION)
    return [f"{wait.name}: {wait.detail['sentence']}" for wait in waiting]


def charge(vendor: Vendor, amount: str = "100.00", currency: str = "EUR") -> str:
    return vendor.seed_charge(amount, currency)


@pytest.fixture
def kit(transactional_db: None, vendor: Vendor, monkeypatch: pytest.MonkeyPatch) -> Iterator[Vendor]:
    """The stand-in, with nothing scripted or armed; afterwards the books must balance. A pause becomes a timer."""
    monkeypatch.setattr(sending, "SHORT", timedelta(0))
    _empty()
    yield vendor
    _empty()
    check_purses()
    check_chains()


def _empty() -> None:
    """Before a test and after it: a test without the kit may stand on these tools, too."""
    for one in (script, world, got, before, after):
        one.clear()
    faults.disarm_all()
