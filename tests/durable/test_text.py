"""What text and JSON may enter, and how text is cut and mended on its way out."""

from __future__ import annotations

import json
import time
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from durable import text
from durable.errors import Invalid
from durable.text import MAX_BYTES, MAX_DEPTH, MAX_INT, check_json, check_text, cut, load_json, mend

FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
FLAG = "\U0001f1e9\U0001f1ea"

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-MAX_INT, MAX_INT)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")),
    lambda inner: st.lists(inner) | st.dictionaries(st.text("abc", max_size=3), inner),
    max_leaves=20,
)


def nested(depth: int, *, objects: bool = False) -> Any:
    value: Any = {} if objects else []
    for _ in range(depth - 1):
        value = {"a": value} if objects else [value]
    return value


@pytest.mark.parametrize(
    ("bad", "rule"), [("a\0b", "NUL"), ("\ud83d", "surrogate"), ("x\udc00", "surrogate")]
)
def test_text_that_cannot_be_stored_is_refused(bad: str, rule: str) -> None:
    with pytest.raises(Invalid, match=f"^input.note: .*{rule}"):
        check_text(bad, "input.note")
    for value in (bad, [bad], {"a": {bad: 1}}):
        with pytest.raises(Invalid, match=rule) as caught:
            check_json(value, "input")
        str(caught.value).encode()  # the message itself can be shown


def test_every_whole_character_passes() -> None:
    text = f"\u00e9 \u6f22 {FAMILY} {FLAG} \t\n\x01\ufffd"
    assert check_text(text, "note") == text


@given(json_values)
def test_plain_json_passes_and_comes_back_unchanged(value: Any) -> None:
    check_json(value, "input", max_bytes=10**6)
    assert load_json(json.dumps(value), "input") == value
    assert load_json(json.dumps(value, ensure_ascii=False).encode(), "input") == value


odd = (
    st.binary()
    | st.sets(st.none())
    | st.just(float("nan"))
    | st.integers(2**53, 2**54)
    | st.text("a\0\ud800é")
)
anything = st.recursive(
    json_values | odd,
    lambda inner: (
        st.lists(inner) | st.tuples(inner) | st.dictionaries(st.text("a\0é") | st.integers(), inner)
    ),
    max_leaves=6,
)


@given(anything, st.integers(0, 60), st.integers(0, 3))
def test_the_quick_look_lets_through_what_the_close_one_does_and_nothing_else(
    value: Any, most: int, depth: int
) -> None:
    def refusal() -> str:
        try:
            check_json(value, "value", max_bytes=most, max_depth=depth)
        except Invalid as error:
            return str(error)
        return ""

    quick = refusal()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(text, "_room_left", lambda *_: -1)
        assert refusal() == quick


@given(json_values)
def test_the_size_that_is_counted_is_that_of_the_compact_text(value: Any) -> None:
    size = len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())
    check_json(value, "input", max_bytes=2 * size + 5)
    with pytest.raises(Invalid, match=r"^input: must be at most .* bytes"):
        check_json(value, "input", max_bytes=size // 2 - 1)


@pytest.mark.parametrize("objects", [False, True])
@pytest.mark.parametrize("depth", [MAX_DEPTH + 1, 1_000, 100_000])
def test_deep_nesting_is_refused_without_recursion(depth: int, objects: bool) -> None:
    with pytest.raises(Invalid, match=f"^input: must be nested at most {MAX_DEPTH} deep"):
        check_json(nested(depth, objects=objects), "input")
    raw = '{"a":' * depth if objects else "[" * depth
    with pytest.raises(Invalid, match=f"^input: must be nested at most {MAX_DEPTH} deep"):
        load_json(raw, "input")


def test_the_deepest_allowed_nesting_passes() -> None:
    value = nested(MAX_DEPTH)
    check_json(value, "input")
    assert load_json(json.dumps(value), "input") == value


def test_a_value_that_holds_itself_is_refused() -> None:
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(Invalid, match="nested"):
        check_json(loop, "input")


def test_a_value_that_is_used_over_and_over_counts_each_time() -> None:
    value: Any = "x" * 100
    for _ in range(30):
        value = [value] * 10
    with pytest.raises(Invalid, match="bytes"):
        check_json(value, "input")


def test_ten_megabytes_are_refused_before_they_are_read() -> None:
    with pytest.raises(Invalid, match=r"^input: must be at most 1,048,576 bytes"):
        load_json(b"[" * (10 * MAX_BYTES), "input")
    with pytest.raises(Invalid, match=r"^input: must be at most 1,048,576 bytes"):
        check_json(["y" * MAX_BYTES], "input")


def test_an_integer_of_thousands_of_digits_is_refused() -> None:
    with pytest.raises(Invalid, match=r"2\^53"):
        check_json({"n": 10**5000}, "input")
    with pytest.raises(Invalid, match=r"2\^53"):
        load_json("9" * 5000, "input")


def test_an_endless_text_is_refused_in_linear_time() -> None:
    began = time.perf_counter()
    with pytest.raises(Invalid, match="Unterminated"):
        load_json('"' + '\\"' * 400_000, "input")
    assert time.perf_counter() - began < 5


@pytest.mark.parametrize(
    ("value", "field", "rule"),
    [
        ({"a": [1, float("nan")]}, "input.a[1]", "finite"),
        ([float("-inf")], "input[0]", "finite"),
        ({"n": MAX_INT + 1}, "input.n", "2^53"),
        ({"n": -MAX_INT - 1}, "input.n", "2^53"),
        ({1: 2}, "input", "text as its keys"),
        ({"x": {None: 1}}, "input.x", "text as its keys"),
        ({"d": Decimal(1)}, "input.d", "Decimal"),
        ([b"x"], "input[0]", "bytes"),
        ({"s": {1}}, "input.s", "set"),
    ],
)
def test_what_is_not_json_is_refused_where_it_stands(value: Any, field: str, rule: str) -> None:
    with pytest.raises(Invalid) as caught:
        check_json(value, "input")
    assert caught.value.field == field
    assert rule in caught.value.rule


@pytest.mark.parametrize(
    ("raw", "field", "rule"),
    [
        ('{"a":{"b":1,"b":1}}', "input.b", "once"),
        ("[NaN]", "input", "NaN"),
        ("[-Infinity]", "input", "Infinity"),
        ("[1e999]", "input[0]", "finite"),
        ("9007199254740993", "input", "2^53"),
        ('["\\ud83d"]', "input[0]", "surrogate"),
        ('"\\u0000"', "input", "NUL"),
        ("", "input", "JSON"),
        ("{", "input", "JSON"),
        ("[1] 2", "input", "JSON"),
        (b"\xff", "input", "UTF-8"),
        (b"\xed\xa0\x80", "input", "UTF-8"),
    ],
)
def test_a_json_text_that_could_be_misread_is_refused(raw: bytes | str, field: str, rule: str) -> None:
    with pytest.raises(Invalid) as caught:
        load_json(raw, "input")
    assert caught.value.field == field
    assert rule in caught.value.rule


def test_brackets_inside_a_text_do_not_nest() -> None:
    assert load_json(json.dumps(["[" * 500 + '"{' * 500]), "input") == ["[" * 500 + '"{' * 500]


def test_a_mended_text_keeps_all_but_the_bad_halves() -> None:
    assert mend("a\ud83db\0c\U0001f600") == "a\ufffdb\ufffdc\U0001f600"
    check_text(mend("\ud83d\0"), "note")


@pytest.mark.parametrize("character", [FAMILY, FLAG, "e\u0301", "\U0001f44d\U0001f3fd", "\U0001f600"])
@pytest.mark.parametrize("limit", range(1, 14))
def test_a_character_on_the_limit_stays_whole_or_goes(character: str, limit: int) -> None:
    text = "ab" + character + "cdefghijkl"
    shown = cut(text, limit)
    assert len(shown) <= limit
    if len(text) <= limit:
        assert shown == text
    else:
        kept = shown.removesuffix("\u2026")
        assert shown.endswith("\u2026") and text.startswith(kept)
        assert character in kept or len(kept) <= 2


def test_a_text_within_the_limit_is_not_cut() -> None:
    assert cut("abc", 3) == "abc"
    assert cut("abcd", 3) == "ab\u2026"
    assert cut("abcd", 0) == ""
