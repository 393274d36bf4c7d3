"""Money: ISO 4217 currencies, exact minor units, and the amounts that people type.

The decimals of a currency come from the `iso4217` package, which carries the maintenance agency's own table.
CLDR (babel) counts what is customary, not what the standard says: it gives HUF, IDR, COP and a dozen more no
decimals where ISO gives two. A vendor whose minor units differ from ISO's says so in its adapter.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from types import MappingProxyType
from typing import Any

from babel import Locale, UnknownLocaleError
from babel.numbers import get_decimal_symbol
from iso4217 import Currency

from durable.errors import Invalid

MAX_MINOR = 2**53
"""The largest amount in minor units: above it, a reader that keeps numbers as doubles loses cents."""

# Codes without minor units (gold, XDR, XXX, the test code) are no money that a vendor could move.
_TABLE: list[Any] = list(Currency)  # its stubs name no members
EXPONENTS: Mapping[str, int] = MappingProxyType(
    {entry.code: entry.exponent for entry in _TABLE if entry.exponent is not None}
)

_MAX_TYPED = 40
_FULL_WIDTH = {0xFF10 + digit: 0x30 + digit for digit in range(10)} | {0xFF0C: ",", 0xFF0E: "."}
_SPACES = "\u0020\u00a0\u2009\u202f"
_APOSTROPHES = "'\u2019"
_PLAIN = re.compile(r"(?P<whole>[0-9]+)(?:(?P<mark>[.,])(?P<part>[0-9]+))?")
_LIKE_THOUSANDS = re.compile(r"[1-9][0-9]{0,2}[.,][0-9]{3}")
_GROUPED = re.compile(
    rf"(?P<whole>[1-9][0-9]{{0,2}}(?P<group>[.,{_SPACES}{_APOSTROPHES}])[0-9]{{3}}(?:(?P=group)[0-9]{{3}})*)"
    r"(?:(?P<mark>[.,])(?P<part>[0-9]+))?"
)


def exponent(currency: object, field: str = "currency") -> int:
    """How many decimals the currency has: 2 for EUR, 0 for JPY, 3 for KWD."""
    found = EXPONENTS.get(currency) if isinstance(currency, str) else None
    if found is None:
        raise Invalid(field, "must be an ISO 4217 code of a currency in use, in capitals, such as EUR")
    return found


def to_minor(amount: Decimal, currency: str, field: str = "amount") -> int:
    """`amount` in minor units, exactly: 40.00 EUR -> 4000, 500 JPY -> 500. Never rounds; negatives pass."""
    decimals = exponent(currency)
    if not isinstance(amount, Decimal):
        raise Invalid(field, f"must be a Decimal, not {type(amount).__name__}")
    if not amount.is_finite():
        raise Invalid(field, "must be a finite number, not NaN or infinity")
    sign, digits, shift = amount.as_tuple()
    assert isinstance(shift, int)
    written = "".join(map(str, digits))
    significant = written.rstrip("0")
    if not significant:
        return 0
    shift += len(written) - len(significant) + decimals
    if shift < 0:
        raise Invalid(field, f"must have at most {decimals} decimals in {currency}")
    # Compared by size first: 1E+999999999 must not be written out.
    huge = amount.adjusted() > len(str(MAX_MINOR))
    minor = 0 if huge else int(significant) * int("1" + "0" * shift)
    if huge or minor > MAX_MINOR:
        raise Invalid(field, f"must be at most {MAX_MINOR} minor units of {currency}")
    return -minor if sign else minor


def from_minor(minor: int, currency: str) -> Decimal:
    """So many minor units as an amount with the currency's decimals: 4000 EUR -> 40.00, 500 JPY -> 500."""
    if type(minor) is not int or abs(minor) > MAX_MINOR:
        raise Invalid("minor", f"must be an integer of at most {MAX_MINOR} minor units")
    return Decimal(minor).scaleb(-exponent(currency))


def written(minor: int, currency: str, *, grouped: bool = False) -> str:
    """So many minor units as text with the currency's decimals, exact however large: sums pass any single amount.

    `grouped`: with commas between thousands, for the eye.
    """
    decimals = exponent(currency)
    digits = str(abs(minor)).rjust(decimals + 1, "0")
    whole, part = digits[: len(digits) - decimals], digits[len(digits) - decimals :]
    shown = f"{int(whole):,}" if grouped else whole
    return f"{'-' if minor < 0 else ''}{shown}{'.' if part else ''}{part}"


@dataclass(frozen=True, slots=True, init=False)
class Money:
    """An amount of one currency, held with the currency's own decimals. Two currencies are never added."""

    amount: Decimal
    currency: str

    def __init__(self, amount: Decimal | int, currency: str) -> None:
        if isinstance(amount, bool):
            raise Invalid("amount", "must be a number, not true or false")
        exact = Decimal(amount) if isinstance(amount, int) else amount
        object.__setattr__(self, "amount", from_minor(to_minor(exact, currency), currency))
        object.__setattr__(self, "currency", currency)

    @property
    def minor(self) -> int:
        """The amount in minor units."""
        return to_minor(self.amount, self.currency)

    def __str__(self) -> str:
        return f"{self.amount:f} {self.currency}"


def parse(text: str, currency: str, locale: str, field: str = "amount") -> Decimal:
    """The amount that a person typed, with the currency's decimals; 0 passes, a sign or a symbol does not.

    Reads what can mean one thing only, whatever the locale: 6.95 and 6,95, 1.234,56 and 1,234.56, 1 234,56,
    1'234.56, full-width digits. One mark before exactly three digits (1.234) may be thousands or decimals:
    refused, except where the currency has three decimals and the mark is the locale's own decimal sign.
    """
    decimals = exponent(currency)
    example = "1234" + ("." + "0" * decimals if decimals else "")
    typed = text.translate(_FULL_WIDTH).strip(_SPACES) if len(text) <= _MAX_TYPED else ""
    found = _PLAIN.fullmatch(typed) or _GROUPED.fullmatch(typed)
    if found is None:
        raise Invalid(field, f"must be digits with one decimal point or comma, such as {example}")
    whole, part = found["whole"], found["part"] or ""
    if _has_two_readings(found, decimals, locale):
        raise Invalid(
            field, f"must be clear, and {typed} may be thousands or decimals; write it as {example}"
        )
    if len(part) > decimals:
        raise Invalid(field, f"must have at most {decimals} decimals in {currency}")
    amount = Decimal(re.sub("[^0-9]", "", whole) + (f".{part}" if part else ""))
    return from_minor(to_minor(amount, currency, field), currency)


def _has_two_readings(found: re.Match[str], decimals: int, locale: str) -> bool:
    """Whether a mark could be the thousands' as well as the decimals'."""
    group, mark = found.groupdict().get("group"), found["mark"]
    if group is None:
        lone = bool(_LIKE_THOUSANDS.fullmatch(found["whole"] + (mark or "") + (found["part"] or "")))
        return lone and not (decimals == 3 and mark == _decimal_sign(locale))
    return mark == group


@cache
def _decimal_sign(locale: str) -> str | None:
    """The locale's decimal sign; None where the locale is unknown, so that doubtful forms are refused."""
    try:
        return get_decimal_symbol(Locale.parse(locale.replace("-", "_")))
    except (UnknownLocaleError, ValueError):
        return None
