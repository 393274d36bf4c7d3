"""What a person gives as proof that an effect happened: a candidate of the vendor, or a receipt found elsewhere."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

from durable import waits
from durable.errors import Invalid
from durable.ledger import outcome
from durable.models import Effect
from durable.money import from_minor, to_minor
from durable.vendor import Receipt


def receipt(effect: Effect, receipt_id: str, typed: Decimal | None) -> Receipt:
    """The receipt of that id among the evidence that people saw; for one found elsewhere, what was asked, or the
    amount that was typed. Raises Invalid for an amount that is none: nobody may sign that it moved.
    """
    for wait in waits.of_effect(effect):
        for candidate in wait.detail.get("candidates", []):
            if candidate.get("id") == receipt_id:
                found = _seen(effect, candidate, receipt_id, typed)
                return replace(found, facts=_by_hand(candidate.get("facts")))
    amount = None if effect.amount_minor is None else from_minor(effect.amount_minor, effect.currency)
    if typed is not None:
        amount = _amount(effect, typed, "amount")
    return Receipt(id=receipt_id, amount=amount, currency=effect.currency or None, facts=_by_hand({}))


def _by_hand(facts: Any) -> dict[str, Any]:
    return {**(facts if isinstance(facts, dict) else {}), "settled_by": "hand"}


def _seen(effect: Effect, candidate: dict[str, Any], receipt_id: str, typed: Decimal | None) -> Receipt:
    """A candidate as the receipt that it is, if what it says moved can have moved."""
    try:
        found = outcome.receipt_from(candidate)
    except (ArithmeticError, TypeError, ValueError) as error:
        raise Invalid(
            "receipt_id",
            f"the vendor's record of {receipt_id} names no amount that can be read; leave it in doubt",
        ) from error
    if found.amount is not None:
        _amount(effect, found.amount, "receipt_id")
        if typed is not None and typed != found.amount:
            raise Invalid(
                "amount", f"the vendor's record of {receipt_id} says {found.amount}; leave this empty"
            )
    elif typed is not None:
        found = replace(found, amount=_amount(effect, typed, "amount"))
    return found


def _amount(effect: Effect, amount: Decimal, field: str) -> Decimal:
    """An amount that can have moved: of the effect's currency, and more than nothing."""
    if not effect.currency:
        if not amount.is_finite():
            raise Invalid(field, "must be a finite number, not NaN or infinity")
        return amount
    if to_minor(amount, effect.currency, field) <= 0:
        raise Invalid(field, f"must be more than nothing; {amount} {effect.currency} is no amount that moved")
    return amount
