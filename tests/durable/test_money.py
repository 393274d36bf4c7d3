"""Amounts: exact, in the currency's own decimals, and never misread."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from durable.errors import Invalid
from durable.money import EXPONENTS, MAX_MINOR, Money, exponent, from_minor, parse, to_minor

LOCALES = ["en", "de", "fr", "de-ch", "pt_BR", "ja", "ar", "no such locale", ""]


# From ISO 4217's list one, by hand; CLDR says 0 for HUF, IDR, COP and MGA.
@pytest.mark.parametrize(
    ("currency", "decimals"),
    [
        ("EUR", 2),
        ("JPY", 0),
        ("KWD", 3),
        ("ISK", 0),
        ("UGX", 0),
        ("KRW", 0),
        ("BHD", 3),
        ("CLF", 4),
        ("HUF", 2),
        ("IDR", 2),
        ("COP", 2),
        ("MGA", 2),
        ("IQD", 3),
        ("CHF", 2),
        ("TWD", 2),
        ("CLP", 0),
    ],
)
def test_a_currency_has_the_decimals_of_iso_4217(currency: str, decimals: int) -> None:
    assert exponent(currency) == decimals


@pytest.mark.parametrize(
    "code", ["eur", "EU", "", "XYZ", "XXX", "XTS", "XAU", "DEM", " EUR", "EUR\n", None, 978, []]
)
def test_what_is_no_currency_in_use_is_refused(code: object) -> None:
    with pytest.raises(Invalid, match=r"^currency: must be an ISO 4217 code"):
        exponent(code)


@pytest.mark.parametrize(
    ("amount", "currency", "minor"),
    [
        ("500", "JPY", 500),
        ("12.345", "KWD", 12345),
        ("40.00", "EUR", 4000),
        ("40", "EUR", 4000),
        ("4E+1", "EUR", 4000),
        ("40.0000", "EUR", 4000),
        ("0", "EUR", 0),
        ("0E-90000000", "EUR", 0),
        ("-0.01", "EUR", -1),
        ("90071992547409.92", "EUR", MAX_MINOR),
    ],
)
def test_an_amount_is_exact_in_minor_units(amount: str, currency: str, minor: int) -> None:
    assert to_minor(Decimal(amount), currency) == minor


@pytest.mark.parametrize(
    ("amount", "currency", "rule"),
    [
        ("40.5", "JPY", "at most 0 decimals"),
        ("40.001", "EUR", "at most 2 decimals"),
        ("1E-999999999", "EUR", "at most 2 decimals"),
        ("1." + "0" * 9000 + "1", "EUR", "at most 2 decimals"),
        ("NaN", "EUR", "finite"),
        ("sNaN", "EUR", "finite"),
        ("Infinity", "EUR", "finite"),
        ("90071992547409.93", "EUR", "at most 9007199254740992"),
        ("1E+999999999", "EUR", "at most 900719"),
        ("9" * 9000, "EUR", "at most 9007199254740992"),
    ],
)
def test_an_amount_that_is_not_exact_or_too_large_is_refused(amount: str, currency: str, rule: str) -> None:
    with pytest.raises(Invalid, match=rule) as caught:
        to_minor(Decimal(amount), currency, "input.amount")
    assert caught.value.field == "input.amount"


@given(minor=st.integers(-MAX_MINOR, MAX_MINOR), currency=st.sampled_from(sorted(EXPONENTS)))
def test_minor_units_come_back_unchanged(minor: int, currency: str) -> None:
    amount = from_minor(minor, currency)
    assert to_minor(amount, currency) == minor
    assert -int(amount.as_tuple().exponent) == exponent(currency)


def test_an_amount_is_shown_in_its_own_decimals() -> None:
    shown = [str(from_minor(4000, "EUR")), str(from_minor(500, "JPY")), str(from_minor(12345, "KWD"))]
    assert shown == ["40.00", "500", "12.345"]
    assert str(from_minor(0, "EUR")) == "0.00"


def test_equal_money_is_equal_however_it_was_written() -> None:
    assert Money(250, "EUR") == Money(Decimal("250.000"), "EUR") == Money(Decimal("2.5E+2"), "EUR")
    assert Money(250, "EUR").minor == 25000
    assert str(Money(250, "EUR")) == "250.00 EUR"
    assert Money(250, "EUR") != Money(250, "USD")


@pytest.mark.parametrize("amount", [True, 6.95, "6.95", None, Decimal("NaN"), Decimal("0.001")])
def test_money_is_made_of_exact_numbers_only(amount: object) -> None:
    with pytest.raises(Invalid, match=r"^amount: "):
        Money(amount, "EUR")  # type: ignore[arg-type]  # what is refused


@pytest.mark.parametrize("minor", [1.0, True, "1", MAX_MINOR + 1, -MAX_MINOR - 1])
def test_minor_units_are_whole_numbers(minor: object) -> None:
    with pytest.raises(Invalid, match=r"^minor: "):
        from_minor(minor, "EUR")  # type: ignore[arg-type]  # what is refused


@pytest.mark.parametrize("locale", LOCALES)
@pytest.mark.parametrize(
    ("typed", "currency", "amount"),
    [
        ("6.95", "EUR", "6.95"),
        ("6,95", "EUR", "6.95"),
        ("6,9", "EUR", "6.90"),
        ("695", "EUR", "695.00"),
        ("1.234,56", "EUR", "1234.56"),
        ("1,234.56", "EUR", "1234.56"),
        ("1 234,56", "EUR", "1234.56"),
        ("1\u202f234,56", "EUR", "1234.56"),
        ("1\u00a0234.56", "EUR", "1234.56"),
        ("1'234.56", "CHF", "1234.56"),
        ("1\u2019234.56", "CHF", "1234.56"),
        ("1.234.567", "EUR", "1234567.00"),
        ("1 234", "EUR", "1234.00"),
        ("\uff16\uff0e\uff19\uff15", "EUR", "6.95"),
        ("\uff11\uff0c\uff12\uff13\uff14\uff0e\uff15", "EUR", "1234.50"),
        (" 500 ", "JPY", "500"),
        ("1,234,567", "JPY", "1234567"),
        ("1.234,567", "KWD", "1234.567"),
        ("1234.567", "KWD", "1234.567"),
        ("0,695", "KWD", "0.695"),
        ("0", "EUR", "0.00"),
    ],
)
def test_a_clear_amount_is_read_in_every_locale(typed: str, currency: str, amount: str, locale: str) -> None:
    read = parse(typed, currency, locale)
    assert (str(read), read) == (amount, Decimal(amount))


@pytest.mark.parametrize("locale", LOCALES)
@pytest.mark.parametrize(
    ("typed", "currency"),
    [
        ("1.234", "EUR"),
        ("1,234", "EUR"),
        ("6.955", "EUR"),
        ("1,234", "JPY"),
        ("1.234", "JPY"),
        ("1,234,56", "EUR"),
        ("1.234.56", "EUR"),
        ("1,234,567,89", "EUR"),
        ("12,34.56", "EUR"),
        ("1 23", "EUR"),
        ("6 95", "EUR"),
        ("0 695", "EUR"),
        ("40.5", "JPY"),
        ("6.9555", "EUR"),
        ("1.234,567", "EUR"),
        ("", "EUR"),
        (" ", "EUR"),
        ("-5", "EUR"),
        ("+5", "EUR"),
        ("\u22125", "EUR"),
        ("5-", "EUR"),
        (".95", "EUR"),
        ("6.", "EUR"),
        ("6,", "EUR"),
        ("1e3", "EUR"),
        ("NaN", "EUR"),
        ("Infinity", "EUR"),
        ("0x10", "EUR"),
        ("1_000", "EUR"),
        ("\u20ac5", "EUR"),
        ("5 EUR", "EUR"),
        ("1\u00b2", "EUR"),
        ("\u0666", "EUR"),
        ("\u00bd", "EUR"),
        ("5\n", "EUR"),
        ("5\x00", "EUR"),
        ("1" * 41, "EUR"),
        ("9" * 20, "EUR"),
        ("1.2.3", "EUR"),
        ("1..2", "EUR"),
        ("1  234", "EUR"),
        ("1,00,000", "INR"),
    ],
)
def test_a_doubtful_amount_is_refused_in_every_locale(typed: str, currency: str, locale: str) -> None:
    with pytest.raises(Invalid, match=r"^args.amount: must "):
        parse(typed, currency, locale, "args.amount")


def test_three_decimals_are_read_by_the_locales_own_sign_alone() -> None:
    assert parse("12.345", "KWD", "en") == parse("12,345", "KWD", "de") == Decimal("12.345")
    for typed, locale in (("12,345", "en"), ("12.345", "de"), ("12.345", "nowhere")):
        with pytest.raises(Invalid, match="thousands or decimals"):
            parse(typed, "KWD", locale)


@given(minor=st.integers(0, MAX_MINOR), currency=st.sampled_from(["EUR", "JPY", "USD", "HUF", "CLF"]))
def test_a_form_reads_back_what_it_printed(minor: int, currency: str) -> None:
    printed = from_minor(minor, currency)
    assert parse(format(printed, "f"), currency, "de") == printed


@given(st.text(alphabet="0123456789.,' \u00a0-", max_size=12))
def test_reading_keeps_the_digits_that_were_typed(typed: str) -> None:
    try:
        read = parse(typed, "EUR", "de")
    except Invalid:
        return
    digits = "".join(found for found in typed if found.isdigit())
    whole, _, part = format(read, "f").partition(".")
    assert (whole + part).lstrip("0").rstrip("0") == digits.lstrip("0").rstrip("0")
