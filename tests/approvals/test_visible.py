"""What a reader can't see, or would misread, is marked; ordinary writing stays as it is."""

from __future__ import annotations

import re

import pytest
from django.utils.html import strip_tags

from approvals import payload
from approvals.templatetags.interlock import plain, suspicious, visible, visible_lines
from approvals.visible import pieces

#: Character, and the code point that must stand on the page in its place.
UNSEEN = {
    "\u202e": "U+202E",
    "\u2066": "U+2066",
    "\u200b": "U+200B",
    "\u00ad": "U+00AD",
    "\ufeff": "U+FEFF",
    "\U000e0100": "U+E0100",
    "\U0001d173": "U+1D173",
    "\u2028": "U+2028",
    "\u00a0": "U+00A0",
    "\u3000": "U+3000",
    "\U000e0041": "U+E0041",
    "\u061c": "U+061C",
    "\u3164": "U+3164",
    "\u2800": "U+2800",
    "\u034f": "U+034F",
    "\ufe01": "U+FE01",
    "\x1b": "U+001B",
    "\x00": "U+0000",
    "\n": "U+000A",
    "\ue000": "U+E000",
}

ORDINARY = [
    "Refund 184.50 EUR to Ines Calder, order A-20931",
    "José Müller, Łódź, Đặng Thị Hà, e\u0301te\u0301",
    "شكرا جزيلا",
    "می\u200cخواهم",
    "תודה רבה",
    "क्\u200dष",
    "Спасибо, всё в порядке",
    "URL-адрес заказа",
    "www.сайт.рф",
    "Ευχαριστώ πολύ",
    "田中さん、ＪＲ東日本",
    "👩\u200d👩\u200d👧\u200d👦 👍🏽 ❤\ufe0f 1\ufe0f\u20e3 🇩🇪 👩🏽\u200d⚕\ufe0f",
    "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
    "10 μm, 20 °C, x² and −5",
]

LOOKALIKES = {
    "p\u0430ypal.com": "\u0430",
    "\u0430\u0440\u0440\u04cf\u0435.com": "\u0430",
    "https://\u0430pple.com/pay": "\u0430",
    "bank\u2024com": "\u2024",
    "G\u03bfogle": "\u03bf",
    "\U0001d41aapple": "\U0001d41a",
    "evil.com\u2215apple.com": "\u2215",
    "IBAN DE8\uff1037": "\uff10",
}


@pytest.mark.parametrize("char", UNSEEN, ids=UNSEEN.values())
def test_a_character_that_cannot_be_seen_is_shown_as_its_code_point(char: str) -> None:
    drawn = visible(f"pay{char}ee")
    assert UNSEEN[char] in drawn
    assert char not in drawn
    assert suspicious(f"pay{char}ee") == (0 if char == "\n" else 1)


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_writing_is_left_alone(text: str) -> None:
    assert visible(text) == f"<bdi>{text}</bdi>"
    assert suspicious(text) == 0


@pytest.mark.parametrize("text", LOOKALIKES)
def test_a_look_alike_is_flagged_beside_its_letter(text: str) -> None:
    char = LOOKALIKES[text]
    drawn = visible(text)
    assert f"U+{ord(char):04X}" in drawn
    assert char in drawn
    assert suspicious(text) >= 1


def test_the_same_host_in_latin_letters_is_not_flagged() -> None:
    assert visible("https://apple.com/pay") == "<bdi>https://apple.com/pay</bdi>"


def test_a_punycode_label_is_shown_with_what_it_reads_as() -> None:
    drawn = visible("https://xn--80ak6aa92e.com/a")
    assert "punycode" in drawn
    assert "\u0430(U+0430)" in drawn


def test_padding_folds_into_one_mark_that_counts_it() -> None:
    drawn = visible("to" + "\u00a0" * 500 + "184.50")
    assert "U+00A0 ×500" in drawn
    assert len(strip_tags(drawn)) < 60
    assert "U+0020 ×400" in visible("to" + " " * 400 + "184.50")
    assert "U+000A" in visible_lines("to" + "\n" * 90 + "184.50")


def test_marks_heaped_on_one_letter_are_counted() -> None:
    assert "U+0301 ×16" in visible("Z" + "\u0301" * 20)


def test_a_non_joiner_between_letters_that_never_join_is_shown() -> None:
    assert "U+200C" in visible("د\u200cر")
    assert "U+200D" in visible("ab\u200dcd")
    assert "U+FE0F" in visible("a\ufe0f")


def test_a_flag_that_unicode_does_not_know_smuggles_nothing() -> None:
    assert "U+E0068" in visible("🏴\U000e0068\U000e0069\U000e007f")


def test_line_breaks_stay_in_prose_and_are_marked_in_names() -> None:
    assert visible_lines("one\ntwo") == '<bdi class="lines">one\ntwo</bdi>'
    assert "\n" not in visible("one\ntwo")


@pytest.mark.parametrize(
    "text",
    [
        "<img src=x onerror=alert(1)>",
        "![](https://evil.example/x.png)",
        "[go](javascript:alert(1))",
        '</script><div hx-post="/gates/1/approval" hx-trigger="load"></div>',
        '"><svg onload=alert(1)>\u202e',
    ],
)
def test_markup_in_foreign_text_stays_text(text: str) -> None:
    for drawn in (visible(text), visible_lines(text)):
        tags = set(re.findall(r"</?([a-z]+)", drawn))
        assert tags <= {"bdi", "span"}


def test_the_plain_form_for_titles_names_the_code_points_too() -> None:
    assert plain("pay\u202eee at p\u0430ypal.com") == "pay[U+202E]ee at p\u0430[U+0430]ypal.com"


@pytest.mark.parametrize("text", [*ORDINARY, *LOOKALIKES, *(f"a{c}b" for c in UNSEEN)])
def test_no_character_is_lost_or_added(text: str) -> None:
    assert "".join(piece.text for piece in pieces(text)) == text


def test_a_payload_shows_every_key_and_value_digit_for_digit() -> None:
    canonical = b'{"amount":"184.50","list":[1,{"deep":null}],"n":1e+21,"none":{}}'
    shown = payload.read(canonical)
    assert [(line.depth, line.key, line.text + line.comma) for line in shown.lines] == [
        (0, None, "{"),
        (1, "amount", '"184.50",'),
        (1, "list", "["),
        (2, None, "1,"),
        (2, None, "{"),
        (3, "deep", "null"),
        (2, None, "}"),
        (1, None, "],"),
        (1, "n", "1e+21,"),
        (1, "none", "{}"),
        (0, None, "}"),
    ]
    assert (shown.size, shown.suspicious) == (len(canonical), 0)


def test_a_payload_counts_what_hides_in_its_keys_and_values() -> None:
    assert payload.read('{"m\u200bemo":"ok\u202e","payee":"p\u0430ypal.com"}').suspicious == 3


def test_what_is_no_json_is_shown_as_it_is() -> None:
    shown = payload.read(b"not json \xff")
    assert [line.text for line in shown.lines] == ["not json \\xff"]
