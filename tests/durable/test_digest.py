"""One value has one sequence of bytes, and any change to it another digest."""

from __future__ import annotations

import hashlib
import hmac
import json
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from enum import StrEnum
from typing import Any
from uuid import UUID

import pytest
import rfc8785
from hypothesis import assume, given
from hypothesis import strategies as st

from durable.digest import canonical, digest, keyed_hash, sha256
from durable.errors import Invalid

SECRET = b"a secret of enough bytes"

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)


class Colour(StrEnum):
    RED = "red"


# The example of RFC 8785, section 3.2.2, without its control characters' neighbour NUL.
def test_the_standards_own_example_is_reproduced() -> None:
    value = {
        "numbers": [333333333.33333329, 1e30, 4.50, 2e-3, 0.000000000000000000000000001],
        "string": "\u20ac$\u000f\u000aA'\u0042\u0022\u005c\\\"/",
        "literals": [None, True, False],
    }
    expected = (
        '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],'
        '"string":"\u20ac$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}'
    )
    assert canonical(value).decode() == expected


def test_keys_are_sorted_as_the_standard_says() -> None:
    # RFC 8785, section 3.2.3: by UTF-16 code units, so that the emoji comes before U+FB33.
    keys = ["\u20ac", "\r", "\ufb33", "1", "\U0001f600", "\u0080", "\u00f6"]
    assert list(json.loads(canonical(dict.fromkeys(keys)))) == [
        *["\r", "1", "\u0080", "\u00f6", "\u20ac", "\U0001f600", "\ufb33"]
    ]


@given(st.dictionaries(texts, values), st.randoms(use_true_random=False))
def test_the_order_of_keys_does_not_count(value: dict[str, Any], random: Any) -> None:
    items = list(value.items())
    random.shuffle(items)
    assert digest(dict(items)) == digest(value)


@given(st.dictionaries(texts, values, min_size=1), st.data())
def test_any_change_of_a_field_changes_the_digest(value: dict[str, Any], data: st.DataObject) -> None:
    key = data.draw(st.sampled_from(sorted(value)))
    other = data.draw(values)
    assume(json.dumps(other, sort_keys=True) != json.dumps(value[key], sort_keys=True))
    assert digest({**value, key: other}) != digest(value)
    assert digest({name: item for name, item in value.items() if name != key}) != digest(value)


@given(values | st.dictionaries(texts, st.floats(allow_nan=False, allow_infinity=False)))
def test_the_bytes_are_those_of_the_standards_own_library(value: Any) -> None:
    assume("9007199254740992" not in json.dumps(value))  # 2^53 itself is one more than the library takes
    assert canonical(value) == rfc8785.dumps(value)


@given(values)
def test_the_bytes_mean_the_value(value: Any) -> None:
    assert json.loads(canonical(value)) == value
    assert digest(value) == hashlib.sha256(canonical(value)).hexdigest() == sha256(canonical(value))


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (Decimal("40.00"), '"40.00"'),
        (Decimal("4E+1"), '"40"'),
        (Decimal("-0.00"), '"0.00"'),
        (Decimal("1E-7"), '"0.0000001"'),
        (date(2026, 2, 1), '"2026-02-01"'),
        (Colour.RED, '"red"'),
        (UUID(int=5), '"00000000-0000-0000-0000-000000000005"'),
        ((1, 2), "[1,2]"),
        (2**53, "9007199254740992"),
        (-(2**53), "-9007199254740992"),
        ({"a": [None, "", False, 0]}, '{"a":[null,"",false,0]}'),
        (1.0, "1"),
    ],
)
def test_pythons_own_types_have_one_form(value: object, written: str) -> None:
    assert canonical(value).decode() == written


def test_a_moment_is_the_same_in_every_time_zone() -> None:
    moment = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
    assert canonical(moment) == b'"2026-03-01T12:00:00Z"'
    assert canonical(moment.astimezone(timezone(timedelta(hours=5, minutes=30)))) == canonical(moment)
    assert canonical(moment + timedelta(microseconds=1)) == b'"2026-03-01T12:00:00.000001Z"'


@pytest.mark.parametrize(
    ("value", "field", "rule"),
    [
        (float("nan"), "value", "finite"),
        ({"a": float("inf")}, "value.a", "finite"),
        ({"a": Decimal("NaN")}, "value.a", "finite"),
        ([Decimal("1E+999999999")], "value[0]", "64 digits"),
        (Decimal("1E-999999999"), "value", "64 digits"),
        ({"t": datetime(2026, 1, 1)}, "value.t", "time zone"),
        (b"x", "value", "bytes"),
        ({1, 2}, "value", "set"),
        (object(), "value", "object"),
        ({1: 2}, "value", "keys"),
        ("\ud800", "value", "surrogate"),
        ({"\ud800": 1}, "value.\ufffd", "surrogate"),
        ("\0", "value", "NUL"),
        (2**53 + 1, "value", "2^53"),
        (timedelta(1), "value", "timedelta"),
    ],
)
def test_what_has_no_one_form_is_refused(value: object, field: str, rule: str) -> None:
    with pytest.raises(Invalid) as caught:
        canonical(value)
    assert caught.value.field == field
    assert rule in caught.value.rule


def test_deep_and_endless_values_are_refused() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    loop: dict[str, Any] = {}
    loop["a"] = loop
    for value in (deep, loop):
        with pytest.raises(Invalid, match=r"^value: must be nested at most 72 deep"):
            canonical(value)


@pytest.mark.parametrize("same", ["ORDER-1", " order-1 ", "Order-1\n"])
def test_a_subject_is_found_however_it_is_written(same: str) -> None:
    assert keyed_hash("order", same, SECRET) == keyed_hash("order", "order-1", SECRET)


def test_accents_and_sharp_s_are_compared_as_people_do() -> None:
    assert keyed_hash("customer", "Jose\u0301", SECRET) == keyed_hash("customer", "JOS\u00c9", SECRET)
    assert keyed_hash("customer", "Stra\u00dfe", SECRET) == keyed_hash("customer", "STRASSE", SECRET)
    assert keyed_hash("customer", "Jose", SECRET) != keyed_hash("customer", "Jos\u00e9", SECRET)


def test_kinds_values_and_secrets_never_run_together() -> None:
    hashes = {
        keyed_hash("order", "1", SECRET),
        keyed_hash("customer", "1", SECRET),
        keyed_hash("order1", "", SECRET),
        keyed_hash("", "order1", SECRET),
        keyed_hash("order", "1", SECRET + b"!"),
    }
    assert len(hashes) == 5


def test_the_keyed_hash_is_the_hmac_that_the_format_says() -> None:
    fields = b"\0\0\0\0\0\0\0\x05order" + b"\0\0\0\0\0\0\0\x04a-12"
    assert keyed_hash("order", "A-12", SECRET) == hmac.new(SECRET, fields, hashlib.sha256).hexdigest()


def test_a_short_secret_is_refused() -> None:
    with pytest.raises(Invalid, match=r"^secret: must have at least 16 bytes"):
        keyed_hash("order", "1", b"short")
