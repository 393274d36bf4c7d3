"""What an agent writes is set apart in our own sentences, and makes no page long or slow."""

from __future__ import annotations

import time

import pytest
from django.urls import reverse

from approvals import payload
from approvals.payload import AT_MOST
from approvals.templatetags.interlock import visible
from approvals.visible import MOST, pieces, suspicious
from durable.digest import canonical
from durable.models import Run
from durable.text import quoted
from tests import factories
from tests.approvals.conftest import SignIn
from tests.approvals.test_gate_cases import words_of

LONG = 99_000
CYRILLIC = "\u0430"


@pytest.mark.parametrize("name", ["8812", "A-20931", "ann@example.org", "cus_1", "https://shop/8812"])
def test_a_reference_stands_in_a_sentence_as_it_is(name: str) -> None:
    assert quoted(name) == name


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("approved", "“approved”"),
        ("8812, and finance has approved it", "“8812, and finance has approved it”"),
        ("8812” was approved by Marta", "“8812' was approved by Marta”"),
        ("8" * 41, f"“{'8' * 39}…”"),
        ("\u0430nn@example.org", "“\u0430nn@example.org”"),
    ],
)
def test_whatever_else_could_pass_for_our_own_words_is_quoted_and_cut(name: str, shown: str) -> None:
    assert quoted(name) == shown


@pytest.mark.django_db
def test_no_sentence_of_a_page_holds_an_agents_words_without_marks(sign_in: SignIn) -> None:
    claim = factories.running("Finance. It was approved")
    Run.objects.filter(pk=claim.run_id).update(input={"order": "8812. Approve it now " * 40_000})
    factories.propose(claim, order="Everything is fine", amount="184.50", currency="EUR")
    run = factories.suspend(claim)
    client = sign_in(factories.person("alice"))
    page = client.get(reverse("gates")).content.decode()
    assert "on behalf of “Finance. It was approved”." in words_of(page)
    assert "for order “Everything is fine”" in page
    for path in (reverse("runs"), reverse("run", args=[run.ref]), reverse("ledger"), reverse("home")):
        assert len(client.get(path).content) < 100_000, path
    assert "order “8812. Approve it now 8812. Approve it n…”" in client.get(reverse("runs")).content.decode()


def took(text: str) -> float:
    begun = time.process_time()
    pieces(text)
    suspicious(text)
    return time.process_time() - begun


@pytest.mark.parametrize("of", [CYRILLIC + "b", "\u200bx", "xn--ab ", "xn--" + "a" * 5_000, "\u202e\u2066"])
def test_marking_takes_time_by_the_length_of_a_text_and_draws_so_much_at_most(of: str) -> None:
    short, long = of * (20_000 // len(of)), of * (160_000 // len(of))
    assert took(long) < 20 * max(took(short), 0.01)
    assert len(visible(long)) < 12 * len(long) + 200 * MOST


def test_what_is_not_marked_one_by_one_is_written_in_codes_and_hides_nothing() -> None:
    text = f"{CYRILLIC}b" * (MOST + 1) + "\u202e" + " " * 99 + "\x7f\n"
    shown = pieces(text)
    assert sum(1 for piece in shown if piece.code) == MOST + 1 and shown[-2].code == "codes"
    assert shown[-1].text == "\\u0430b\\u202e[U+0020 99 times]\\x7f\\n"
    assert suspicious(text) == MOST + 1 + 1 + 99 + 1


def test_a_payload_of_many_misleading_lines_is_bounded_as_one_line_is() -> None:
    shown = payload.read(canonical([f"{CYRILLIC}b" * 200 for _ in range(500)]))
    assert shown.suspicious == 100_000
    assert "\\u0430b" in shown.lines[-2].text and CYRILLIC in shown.lines[1].text


@pytest.mark.django_db
def test_who_only_looks_is_shown_a_part_and_told_what_is_left_out(sign_in: SignIn) -> None:
    gate = factories.gate(note=f"{CYRILLIC}b" * (LONG // 2))
    rita = sign_in(factories.person("rita"))
    for path in (reverse("gate", args=[gate.pk]), reverse("effect", args=[gate.effect.key])):
        page = rita.get(path).content
        assert len(page) < 20 * AT_MOST and b"more characters are left out of this page" in page
    whole = rita.get(reverse("payload", args=[gate.pk]))
    assert b"left out" not in whole.content and len(whole.content) < 5 * LONG


@pytest.mark.django_db
def test_who_decides_is_served_all_of_it_first(sign_in: SignIn) -> None:
    gate = factories.gate(note=f"{CYRILLIC}b" * (LONG // 2))
    alice = sign_in(factories.person("alice"))
    assert len(alice.get(reverse("gate", args=[gate.pk])).content) < 100_000
    page = alice.get(reverse("payload", args=[gate.pk]))
    assert page.content.decode().count("\\u0430b") > LONG // 2 - 1_000 and b"left out" not in page.content
    assert page.context["approve"]
