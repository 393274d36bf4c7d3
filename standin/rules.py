"""What the payments service accepts: Stripe's parameters, amounts and currencies, and its words for a
refusal.

`DECIMALS` and `STEP` are Stripe's own list (docs.stripe.com/currencies), not ISO's: the madagascan ariary has
no decimals there, the krona and the Ugandan shilling are sent in hundredths and must be whole, and of three
decimals the last must be 0.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from standin.keys import error
from standin.web import Refused

ZERO = [
    "BIF",
    "CLP",
    "DJF",
    "GNF",
    "JPY",
    "KMF",
    "KRW",
    "MGA",
    "PYG",
    "RWF",
    "VND",
    "VUV",
    "XAF",
    "XOF",
    "XPF",
]
DECIMALS = dict.fromkeys(ZERO, 0) | dict.fromkeys(["BHD", "JOD", "KWD", "OMR", "TND"], 3)
STEP = {"ISK": 100, "UGX": 100} | dict.fromkeys(["BHD", "JOD", "KWD", "OMR", "TND"], 10)
LARGEST = 99_999_999
REASONS = ("duplicate", "fraudulent", "requested_by_customer")
REFUND_FIELDS = {"charge", "payment_intent", "amount", "reason", "metadata", "expand", "currency"}
CREATED: dict[str, Callable[[int, int], bool]] = {
    "created[gt]": operator.gt,
    "created[gte]": operator.ge,
    "created[lt]": operator.lt,
    "created[lte]": operator.le,
}
LIST_FIELDS = {"charge", "payment_intent", "created", "limit", "starting_after", "expand"}


def invalid(
    message: str, code: str | None = None, param: str | None = None, *, saved: bool = False
) -> Refused:
    """The refusal of a bad request, 400, for the caller to raise: `code` is Stripe's, `param` the field to blame."""
    return Refused(error(400, "invalid_request_error", message, code, param), saved=saved)


def missing(what: str, name: str, param: str) -> Refused:
    """The refusal, 404, of an object (`what`) that is not there under `name`, for the caller to raise."""
    message = f"No such {what}: '{name}'"
    return Refused(error(404, "invalid_request_error", message, "resource_missing", param))


def only(params: dict[str, Any], allowed: set[str]) -> None:
    """Raises Refused for the first parameter that is not among those allowed."""
    for name in params:
        if name not in allowed:
            raise invalid(f"Received unknown parameter: {name}", "parameter_unknown", name)


def integer(text: Any, param: str) -> int:
    """The whole number that a parameter's text stands for. Raises Refused for any other text."""
    if not isinstance(text, str) or not re.fullmatch(r"-?\d{1,15}", text):
        raise invalid(f"Invalid integer: {text}", "parameter_invalid_integer", param)
    return int(text)


def created_within(wanted: Any, created: int) -> bool:
    """Whether a moment, in whole seconds, lies within what a list was asked for: one second, or up to four bounds."""
    if wanted is None:
        return True
    if not isinstance(wanted, dict):
        return created == integer(wanted, "created")
    only({f"created[{name}]": value for name, value in wanted.items()}, set(CREATED))
    return all(CREATED[name](created, integer(bound, name)) for name, bound in _named(wanted))


def _named(wanted: dict[str, Any]) -> list[tuple[str, Any]]:
    return [(f"created[{name}]", bound) for name, bound in wanted.items()]


def check_sum(params: dict[str, Any]) -> None:
    """Raises Refused unless currency and amount (in the minor unit) are such as Stripe takes."""
    if not re.fullmatch(r"[A-Za-z]{3}", str(params.get("currency", ""))):
        raise invalid("Invalid currency: use a three-letter ISO code.", param="currency")
    amount = integer(params.get("amount"), "amount")
    if not 1 <= amount <= LARGEST:
        raise invalid(f"Amount must be between 1 and {LARGEST}.", "amount_too_large", "amount")
    if amount % STEP.get(params["currency"].upper(), 1):
        raise invalid("Invalid amount.", "invalid_charge_amount_no_decimal_compatible", "amount")


def metadata_of(params: dict[str, Any]) -> dict[str, str]:
    """The request's metadata, empty where it has none. Raises Refused for what is no table, and for too much in it."""
    metadata = params.get("metadata") or {}
    if not isinstance(metadata, dict) or len(metadata) > 50:
        raise invalid("Metadata must be a set of at most 50 key-value pairs.", param="metadata")
    for name, value in metadata.items():
        if len(name) > 40 or len(value) > 500:
            raise invalid(
                "Metadata keys have at most 40, values at most 500 characters.", param=f"metadata[{name}]"
            )
    return metadata


def major(amount: int, currency: str) -> str:
    """An amount of minor units as text in the major unit, with as many decimals as Stripe gives the currency."""
    return str(Decimal(amount).scaleb(-DECIMALS.get(currency.upper(), 2)))
