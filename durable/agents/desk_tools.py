"""The refund desk's tools. Each declares what its vendor promises; what class it is of follows from that."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any, Literal

from pydantic import EmailStr

from durable.adapters import mail, orders, stock, stripe_refunds
from durable.author import Call, LookupAnswer, Period, Receipt, hours, minutes, seconds, tool

#: Why Stripe gives money back, in its own words.
Reason = Literal["duplicate", "fraudulent", "requested_by_customer"]


@tool(reads=True, vendor="shop", subject="order", freshness=minutes(10))
def fetch_order(order: str) -> dict[str, Any]:
    """Look an order up: customer, charge, amount, items, where it stands."""
    return orders.fetch_order(order)


@tool(
    vendor="stripe",
    idempotent_for=stripe_refunds.KEY_LIFE,
    money="amount",
    subject=("order", "customer"),
    target="charge",
    once_per=("order",),
    reason="reason",
    lookup_lag=seconds(2),
)
def refund(
    call: Call, order: str, customer: str, charge: str, amount: Decimal, currency: str, reason: Reason
) -> Receipt:
    """Give money back to the card that paid."""
    return stripe_refunds.refund(call, charge, amount, currency, reason)


@refund.lookup
def find_refund(call: Call) -> LookupAnswer:
    """Find our refund among those of the charge, by the key in its metadata."""
    return stripe_refunds.find_refund(call)


@refund.statement
def refunds_of(period: Period) -> Iterator[Receipt]:
    """What Stripe says that it refunded in a period."""
    return stripe_refunds.refunds_of(period)


@refund.recheck
def charge_facts(call: Call) -> dict[str, str]:
    """What must not have changed while people decided: what is left of the charge, its currency, its state."""
    return stripe_refunds.charge_facts(call)


@tool(vendor="stock", subject="order", lookup_lag=seconds(5), in_flight=seconds(30))
def reserve_replacement(call: Call, order: str, sku: str, quantity: int) -> Receipt:
    """Set goods aside for the customer, at a warehouse that knows no idempotency keys."""
    return stock.reserve(call, sku, quantity, order)


@reserve_replacement.lookup
def find_reservation(call: Call) -> LookupAnswer:
    """Find the reservation by our reference; a new one shows up late."""
    return stock.find_reservation(call)


@reserve_replacement.statement
def reservations_since(period: Period) -> list[Receipt]:
    """What the warehouse says that it set aside since a moment."""
    return stock.reservations_since(period)


@reserve_replacement.undo(lookup=stock.find_release, idempotent_for=hours(24 * 365))
def release_reservation(call: Call) -> Receipt:
    """Put the goods back. Cancelling a cancelled reservation changes nothing, so it may be repeated for ever."""
    assert call.undoes is not None
    return stock.release_reservation(call, call.undoes)


@tool(vendor="mail", subject={"customer": "to"})
def send_email(call: Call, to: EmailStr, subject: str, body: str) -> Receipt:
    """Write to the customer. It declares nothing, for nothing about it can be repeated or taken back."""
    return mail.send_email(call, to, subject, body)
