"""A proposal: arguments settled to the byte, and come back as they went in."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, Literal

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pydantic import BaseModel, EmailStr

from durable.budget import hours
from durable.digest import sha256
from durable.errors import Invalid
from durable.tools import isolated, tool
from durable.vendor import Call, Receipt


class Line(BaseModel):
    sku: str
    count: int
    price: Decimal


def refund(
    call: Call, order: str, amount: Decimal, currency: str, reason: str = "", card: str | None = None
) -> Receipt:
    return Receipt(id="re_1")


def store(
    call: Call,
    name: str,
    weight: Decimal,
    on: date,
    at: datetime,
    how: Literal["fast", "slow"],
    lines: list[Line],
    extra: dict[str, Any],
    copy: bool = False,
) -> Receipt:
    return Receipt(id="re_1")


def mail(call: Call, to: EmailStr, body: str) -> Receipt:
    return Receipt(id="re_1")


with isolated(empty=True):
    FACTS: dict[str, Any] = {
        "idempotent_for": hours(24),
        "vendor": "stripe",
        "account": "acct_1",
        "money": "amount",
        "subject": "order",
        "once_per": ("order",),
        "secret": ("card",),
        "target": "order",
    }
    REFUND = tool(**FACTS)(refund)
    STORE = tool(store)
    MAIL = tool(subject={"customer": "to"})(mail)

ASKED = {"order": "8812", "amount": "40.00", "currency": "EUR"}
STORED = {
    "name": "",
    "weight": Decimal("1.50"),
    "on": date(2026, 2, 1),
    "at": datetime(2026, 2, 1, 9, 30, tzinfo=UTC),
    "how": "fast",
    "lines": [Line(sku="a", count=0, price=Decimal("6.95")), {"sku": "", "count": 3, "price": "0"}],
    "extra": {
        "null": None,
        "empty": "",
        "no": False,
        "zero": 0,
        "list": [None, "", False, 0, [], {}],
        "half": 0.5,
    },
}

plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text("abc \u00e9\U0001f600", max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text("abc", max_size=3), inner, max_size=4)
    ),
    max_leaves=30,
)


def test_the_digest_covers_tool_version_vendor_account_and_arguments() -> None:
    proposal = REFUND.proposal(ASKED)
    expected = (
        '{"account":"acct_1","args":{"amount":"40.00","card":null,"currency":"EUR","order":"8812","reason":""},'
        '"tool":"refund","vendor":"stripe","version":1}'
    )
    assert proposal.canonical.decode() == expected
    assert proposal.digest == sha256(expected.encode())


@pytest.mark.parametrize(
    "change", [{"version": 2}, {"vendor": "adyen"}, {"account": "acct_2"}, {"name": "refund_again"}]
)
def test_the_same_arguments_at_another_tool_are_another_proposal(change: dict[str, Any]) -> None:
    with isolated(empty=True):
        other = tool(**{**FACTS, **change})(refund)
    assert other.proposal(ASKED).digest != REFUND.proposal(ASKED).digest


@pytest.mark.parametrize(
    "change",
    [
        {"order": "8813"},
        {"amount": "400.00"},
        {"currency": "USD"},
        {"reason": " "},
        {"card": ""},
        {"card": "null"},
    ],
)
def test_any_changed_argument_is_another_proposal(change: dict[str, Any]) -> None:
    assert REFUND.proposal({**ASKED, **change}).digest != REFUND.proposal(ASKED).digest


@pytest.mark.parametrize(
    "amount", ["40", "40.0", "40.00", 40, Decimal("40"), Decimal("4E+1"), Decimal("40.000")]
)
def test_one_amount_is_one_proposal_however_it_is_written(amount: object) -> None:
    proposal = REFUND.proposal({**ASKED, "amount": amount})
    assert proposal.digest == REFUND.proposal(ASKED).digest
    assert (proposal.args["amount"], proposal.amount_minor, proposal.currency) == ("40.00", 4000, "EUR")


def test_the_order_of_arguments_and_given_defaults_do_not_count() -> None:
    backwards = dict(reversed([*ASKED.items(), ("reason", ""), ("card", None)]))
    assert REFUND.proposal(backwards).digest == REFUND.proposal(ASKED).digest


@pytest.mark.parametrize(
    ("amount", "currency", "written", "minor"),
    [
        ("500", "JPY", "500", 500),
        ("12.345", "KWD", "12.345", 12345),
        ("90071992547409.92", "EUR", None, 2**53),
    ],
)
def test_amounts_have_the_currencys_own_decimals(
    amount: str, currency: str, written: str | None, minor: int
) -> None:
    proposal = REFUND.proposal({"order": "1", "amount": amount, "currency": currency})
    assert (proposal.args["amount"], proposal.amount_minor) == (written or amount, minor)


def test_null_empty_false_and_zero_survive_the_way_to_the_vendor() -> None:
    stored = json.loads(json.dumps(dict(STORE.proposal(STORED).args)))
    typed = STORE.typed(stored)
    assert typed == {
        **STORED,
        "lines": [Line(sku="a", count=0, price=Decimal("6.95")), Line(sku="", count=3, price=Decimal(0))],
        "copy": False,
    }
    assert typed["extra"]["no"] is False
    assert typed["extra"]["zero"] == 0
    assert typed["extra"]["zero"] is not False
    assert isinstance(typed["weight"], Decimal)
    assert STORE.proposal(stored).digest == STORE.proposal(STORED).digest


@given(extra=st.dictionaries(st.text("abc", max_size=3), plain, max_size=30))
def test_any_payload_comes_back_exactly(extra: dict[str, Any]) -> None:
    args = {**STORED, "extra": extra}
    proposal = STORE.proposal(args)
    back = json.loads(json.dumps(dict(proposal.args)))
    assert json.dumps(STORE.typed(back)["extra"], sort_keys=True) == json.dumps(extra, sort_keys=True)
    assert STORE.proposal(back).digest == proposal.digest


@given(one=plain, other=plain)
def test_two_payloads_have_one_digest_only_if_they_are_equal(one: Any, other: Any) -> None:
    assume(json.dumps(one, sort_keys=True) != json.dumps(other, sort_keys=True))
    first, second = (STORE.proposal({**STORED, "extra": {"x": value}}) for value in (one, other))
    assert first.digest != second.digest


@given(st.decimals(allow_nan=False, allow_infinity=False, places=12, min_value=-(10**30), max_value=10**30))
def test_a_decimal_that_is_no_money_is_never_rounded(weight: Decimal) -> None:
    assert STORE.typed(STORE.proposal({**STORED, "weight": weight}).args)["weight"] == weight


def test_moments_are_settled_in_utc() -> None:
    east = {**STORED, "at": "2026-02-01T11:30:00+02:00"}
    assert STORE.proposal(east).args["at"] == "2026-02-01T09:30:00Z"
    assert STORE.proposal(east).digest == STORE.proposal(STORED).digest


def test_subjects_target_and_once_per_are_named() -> None:
    proposal = REFUND.proposal(ASKED)
    assert (proposal.subjects, proposal.target) == ({"order": "8812"}, "8812")
    assert proposal.once_per == '{"args":{"order":"8812"},"tool":"refund"}'
    assert REFUND.proposal({**ASKED, "amount": "5"}).once_per == proposal.once_per
    assert REFUND.proposal({**ASKED, "order": "8813"}).once_per != proposal.once_per
    mailed = MAIL.proposal({"to": "ann@example.com", "body": "Hello"})
    assert (mailed.subjects, mailed.target, mailed.once_per) == ({"customer": "ann@example.com"}, None, None)
    assert (mailed.amount_minor, mailed.currency) == (None, None)


def test_an_empty_subject_is_not_searched_for() -> None:
    assert REFUND.proposal({**ASKED, "order": ""}).subjects == {}


def test_a_secret_shows_its_last_four_and_says_so() -> None:
    proposal = REFUND.proposal({**ASKED, "card": "4000056655665556"})
    assert proposal.public_args()["card"] == "\u2022\u2022\u2022\u20225556 (masked)"
    assert proposal.public_args()["order"] == "8812"
    assert proposal.args["card"] == "4000056655665556"


@pytest.mark.parametrize("card", ["", "123", "12345678901", None])
def test_a_short_secret_shows_nothing(card: str | None) -> None:
    assert (
        REFUND.proposal({**ASKED, "card": card}).public_args()["card"] == "\u2022\u2022\u2022\u2022 (masked)"
    )


def test_a_proposal_in_a_log_shows_no_argument() -> None:
    assert "8812" not in repr(REFUND.proposal(ASKED))
    assert "400005" not in repr(REFUND.proposal({**ASKED, "card": "4000056655665556"}))


def test_the_schema_comes_from_the_type_hints() -> None:
    assert set(REFUND.schema["properties"]) == {"order", "amount", "currency", "reason", "card"}
    assert REFUND.schema["required"] == ["order", "amount", "currency"]
    assert REFUND.schema["additionalProperties"] is False


def test_the_callers_own_arguments_are_left_alone() -> None:
    asked = {**STORED, "extra": {"list": [1]}}
    proposal = STORE.proposal(asked)
    asked["extra"]["list"].append(2)
    assert proposal.args["extra"] == {"list": [1]}


def test_refusals_come_as_one_kind() -> None:
    with pytest.raises(Invalid) as caught:
        MAIL.proposal({"to": "nobody", "body": "Hello"})
    assert caught.value.field == "args.to"
