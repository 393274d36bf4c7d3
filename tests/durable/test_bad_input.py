"""A tool's arguments at the door: whatever is wrong is refused with the field and the rule named."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from pydantic import BaseModel, EmailStr

from durable.errors import Invalid
from durable.tools import isolated, tool
from durable.vendor import Call, Receipt


class Line(BaseModel):
    price: Decimal


def refund(
    call: Call,
    order: str,
    amount: Decimal,
    currency: str,
    count: int = 1,
    quick: bool = False,
    weight: Decimal = Decimal(1),
    to: EmailStr = "ann@example.com",
    lines: list[Line] = [],  # noqa: B006  # pydantic copies it
    extra: dict[str, Any] | None = None,
) -> Receipt:
    return Receipt(id="re_1")


with isolated(empty=True):
    REFUND = tool(money="amount", subject="order")(refund)

ASKED = {"order": "8812", "amount": "40.00", "currency": "EUR"}


def refusal(args: Any) -> Invalid:
    with pytest.raises(Invalid) as caught:
        REFUND.proposal(args)
    str(caught.value).encode()  # can be shown whatever was sent
    return caught.value


def test_what_is_right_is_taken() -> None:
    assert REFUND.proposal(ASKED).amount_minor == 4000


@pytest.mark.parametrize(
    ("amount", "rule"),
    [
        (0, "above 0"),
        ("0.00", "above 0"),
        ("-0", "above 0"),
        ("-40", "above 0"),
        ("NaN", "finite"),
        ("Infinity", "finite"),
        (Decimal("NaN"), "finite"),
        (Decimal("-Infinity"), "finite"),
        (float("nan"), "finite"),
        ("40.001", "at most 2 decimals"),
        (Decimal("40.001"), "at most 2 decimals"),
        ("10.000", "at most 2 decimals"),
        ("90071992547409.93", "at most 9007199254740992"),
        (2**53, "at most 9007199254740992"),
        (2**53 + 1, "2^53"),
        ("1e3", "digits"),
        ("1_000", "digits"),
        (" 40", "digits"),
        ("\uff14\uff10", "digits"),
        ("40,00", "valid decimal"),
        ("", "valid decimal"),
        (40.0, "float"),
        (6.95, "float"),
        (True, "decimal"),
        (None, "decimal"),
        ([40], "decimal"),
    ],
)
def test_an_amount_that_cannot_be_paid_is_refused(amount: object, rule: str) -> None:
    error = refusal({**ASKED, "amount": amount})
    assert error.field == "args.amount"
    assert rule in error.rule


def test_a_fraction_of_a_yen_is_refused() -> None:
    error = refusal({"order": "1", "amount": "40.5", "currency": "JPY"})
    assert (error.field, error.rule) == ("args.amount", "must have at most 0 decimals in JPY")


@pytest.mark.parametrize("currency", ["eur", "EURO", "", "XXX", "XYZ", "E\u00dcR"])
def test_an_unknown_currency_is_refused(currency: str) -> None:
    error = refusal({**ASKED, "currency": currency})
    assert error.field == "args.currency"
    assert "ISO 4217" in error.rule


@pytest.mark.parametrize(
    ("change", "field", "rule"),
    [
        ({"order": "a\0b"}, "args.order", "NUL"),
        ({"order": "\ud83d"}, "args.order", "surrogate"),
        ({"order": 8812}, "args.order", "string"),
        ({"order": None}, "args.order", "string"),
        ({"count": True}, "args.count", "integer"),
        ({"count": "1"}, "args.count", "integer"),
        ({"count": 1.0}, "args.count", "integer"),
        ({"count": 2**53 + 1}, "args.count", "2^53"),
        ({"quick": 1}, "args.quick", "boolean"),
        ({"quick": "false"}, "args.quick", "boolean"),
        ({"weight": 0.1}, "args.weight", "float"),
        ({"weight": "1E-999999999"}, "args.weight", "64 digits"),
        ({"lines": [{"price": "1"}, {"price": 0.1}]}, "args.lines[1].price", "float"),
        ({"lines": [{}]}, "args.lines[0].price", "required"),
        ({"to": "nobody"}, "args.to", "email"),
        ({"to": "a@example.com\nBcc: b@example.com"}, "args.to", "email"),
        ({"unknown": 1}, "args.unknown", "not an argument"),
        ({"call": {}}, "args.call", "not an argument"),
        ({"self\ud800": 1}, "args.self\ufffd", "surrogate"),
        ({5: 1}, "args", "text as its keys"),
        ({"extra": {"a": {5: 1}}}, "args.extra.a", "text as its keys"),
        ({"extra": {"a": [float("inf")]}}, "args.extra.a[0]", "finite"),
        ({"extra": {"a": b"x"}}, "args.extra.a", "bytes"),
    ],
)
def test_what_the_schema_does_not_say_is_refused(change: dict[Any, Any], field: str, rule: str) -> None:
    error = refusal({**ASKED, **change})
    assert error.field == field
    assert rule in error.rule


@pytest.mark.parametrize("missing", ["order", "amount", "currency"])
def test_a_missing_argument_is_named(missing: str) -> None:
    error = refusal({name: value for name, value in ASKED.items() if name != missing})
    assert (error.field, error.rule) == (f"args.{missing}", "is required; give it")


def test_no_arguments_at_all_are_not_an_empty_payload() -> None:
    assert refusal({}).field == "args.order"


def test_ten_megabytes_are_refused() -> None:
    error = refusal({**ASKED, "extra": {"a": ["x" * 1000] * 10_000}})
    assert (error.field, "1,048,576 bytes" in error.rule) == ("args", True)
    assert refusal({**ASKED, "order": "x" * 10**7}).field == "args"


def test_a_text_has_a_limit_of_its_own() -> None:
    error = refusal({**ASKED, "order": "x" * 100_001})
    assert (error.field, "100000 characters" in error.rule) == ("args.order", True)


@pytest.mark.parametrize("depth", [64, 1_000, 100_000])
def test_deep_nesting_is_refused(depth: int) -> None:
    value: Any = 0
    for _ in range(depth):
        value = [value]
    error = refusal({**ASKED, "extra": {"a": value}})
    assert (error.field, error.rule) == ("args", "must be nested at most 64 deep; flatten it")


def test_the_deepest_allowed_nesting_is_taken() -> None:
    value: Any = 0
    for _ in range(62):
        value = [value]
    assert REFUND.proposal({**ASKED, "extra": {"a": value}}).args["extra"] == {"a": value}
    assert refusal({**ASKED, "extra": {"a": [value]}}).field == "args"


def test_a_refusal_never_repeats_the_value() -> None:
    secret = "tok_live_4242"
    for change in (
        {"count": secret},
        {"to": secret},
        {"quick": secret},
        {"lines": secret},
        {"amount": secret},
    ):
        assert secret not in str(refusal({**ASKED, **change}))
