"""Stripe's minor units, which are not ISO's everywhere (docs.stripe.com/currencies).

MGA has no decimals at Stripe and two in ISO. ISK is sent in hundredths and must be whole. Of three decimals
the last must be 0. UGX stands in Stripe's list of currencies without decimals and, among its special cases,
as sent in hundredths: a factor of 100 that two places of one page contradict each other about is not ours to
guess. So UGX is left out below, and like every currency that is not listed and whose ISO decimals are not two
it is refused.
"""

from __future__ import annotations

from decimal import Decimal

from durable import money
from durable.errors import Invalid, VendorRefused

NO_DECIMALS = frozenset(
    ["BIF", "CLP", "DJF", "GNF", "JPY", "KMF", "KRW", "MGA", "PYG", "RWF", "VND", "VUV", "XAF", "XOF", "XPF"]
)
THREE_DECIMALS = frozenset(["BHD", "JOD", "KWD", "OMR", "TND"])
SENT_IN_HUNDREDTHS = frozenset(("ISK",))


def decimals(currency: str) -> int:
    """How many decimals `currency` has at Stripe. Raises VendorRefused where that isn't known for certain."""
    if currency in NO_DECIMALS:
        return 0
    if currency in THREE_DECIMALS:
        return 3
    if currency in SENT_IN_HUNDREDTHS:
        return 2
    try:
        known = money.exponent(currency) == 2
    except Invalid:
        known = False
    if not known:
        raise VendorRefused(
            "currency_unsupported", f"currency {currency}: Stripe's minor unit of it isn't known"
        )
    return 2


def to_stripe(amount: Decimal, currency: str) -> int:
    """`amount` in Stripe's minor units, exactly. Raises VendorRefused where it can't be sent so; never
    rounds.
    """
    step = {**dict.fromkeys(THREE_DECIMALS, 10), **dict.fromkeys(SENT_IN_HUNDREDTHS, 100)}.get(currency, 1)
    places = decimals(currency)
    minor = amount.scaleb(places) if amount.is_finite() else Decimal(0)
    if minor <= 0 or minor != minor.to_integral_value() or int(minor) % step:
        finest = Decimal(step).scaleb(-places)
        raise VendorRefused(
            "amount_unsendable", f"amount {amount} {currency}: must be a positive multiple of {finest}"
        )
    return int(minor)


def from_stripe(minor: int, currency: str) -> Decimal | None:
    """Stripe's minor units as an amount with the currency's own (ISO) decimals; None where the unit isn't
    known.

    Where the ISO decimals are fewer than Stripe's, what Stripe says is kept exactly.
    """
    try:
        amount = Decimal(minor).scaleb(-decimals(currency))
        finest = Decimal(1).scaleb(-money.exponent(currency))
    except (VendorRefused, Invalid):
        return None
    iso = amount.quantize(finest)
    return iso if iso == amount else amount
