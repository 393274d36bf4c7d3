"""Words from outside among our own: wherever they stand in a sentence, they are seen to be somebody else's."""

from __future__ import annotations

import html
import re
from html.parser import HTMLParser
from operator import methodcaller
from typing import Any

import pytest
from django.urls import reverse

from approvals.queries import words
from durable.models import Run
from durable.models.fields import Clock
from durable.states import RunState
from durable.text import quoted
from tests import factories
from tests.approvals.conftest import SignIn
from tests.approvals.house import full
from tests.approvals.sharing import apart
from tests.approvals.test_hostile_words import FIELDS

#: Goes on where a sentence of ours could have gone on.
CLAIM = " and a second person has approved it"
#: Names that authors and administrators give; nobody outside chooses them.
NAMES = re.compile(rf"~(desk|rita){CLAIM}")
FOREIGN = re.compile(rf"~[^~]*?{CLAIM}")
_QUOTED = re.compile("“[^“”]*”")
#: What only draws, and parts no text.
_DRAWS = {"bdi", "q"}
_EMPTY = {"area", "base", "br", "col", "hr", "img", "input", "link", "meta", "use", "wbr"}


class Texts(HTMLParser):
    """Each element's own text: what stands in it beside its children, and what merely draws."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self._open: list[tuple[str, list[str]]] = [("", [])]
        self.found: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if tag not in _EMPTY and tag not in _DRAWS:
            self._open[-1][1].append(" ")
            self._open.append((tag, []))

    def handle_endtag(self, tag: str) -> None:
        if tag in _DRAWS or not any(name == tag for name, _ in self._open):
            return
        while True:
            name, texts = self._open.pop()
            self.found.append("".join(texts))
            if name == tag:
                return

    def handle_data(self, data: str) -> None:
        self._open[-1][1].append(data)


def within_ours(page: str) -> list[str]:
    """Texts in which foreign words stand beside our own, outside of quotation marks."""
    texts = (NAMES.sub("", _QUOTED.sub("", text)).strip() for text in Texts(page).found)
    return [text for text in texts if FOREIGN.search(text) and re.search(r"\w", FOREIGN.sub("", text))]


def test_the_measure_finds_words_that_stand_unmarked_and_passes_those_that_do_not() -> None:
    lost = f"<bdi>~lost{CLAIM}</bdi>"
    assert within_ours(f"<p>It failed {lost}.</p>") == [f"It failed ~lost{CLAIM}."]
    assert within_ours(f"<p>It failed: <q>“{lost}”</q>.</p><td>{lost}</td><p>Is it <b>{lost}</b>?</p>") == []


@pytest.fixture(scope="module")
def pages(django_db_setup: None, django_db_blocker: Any) -> list[tuple[str, str]]:
    """Each page as the first of these sees it who may: its address and its text."""
    with apart(django_db_blocker):
        house = full(lambda plain: f"~{plain}{CLAIM}")
        clients = [house.signs_in(who) for who in ("alice", "olga", "rita", "ada")]
        asked = ((path, map(methodcaller("get", path), clients)) for path in house.pages())
        seen = (
            (path, next((one for one in answers if one.status_code == 200), None)) for path, answers in asked
        )
        return [
            (path, FIELDS.sub("", answer.content.decode())) for path, answer in seen if answer is not None
        ]


def test_no_page_lets_words_from_outside_pass_for_its_own(pages: list[tuple[str, str]]) -> None:
    assert sum(CLAIM in page for _, page in pages) > 30
    found = {(re.sub(r"\d+", "1", path), text) for path, page in pages for text in within_ours(page)}
    assert "\n".join(map(" ".join, sorted(found))) == ""


@pytest.mark.parametrize(
    "said",
    [
        "lost” It was approved. “",
        "lost\u201d\u202e .devorppa saw tI",
        "„lost‟ «and» done",
        "x” (pay, line 7)",
    ],
)
def test_nothing_that_is_quoted_ends_its_own_quotation(said: str) -> None:
    shown = quoted(said, 300)
    assert (shown[0], shown[-1]) == ("“", "”")
    assert not {*"“”„‟«»"} & {*shown[1:-1]}


@pytest.mark.parametrize("said", ["8812", "re_1Pq", "ann@example.org", "2026-11-30"])
def test_a_reference_stands_as_it_is(said: str) -> None:
    assert quoted(said) == said


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("error", "shown"),
    [
        ("step pay failed: ValueError: “no luck” (f, line 7)", "Step pay failed: ValueError: “no luck” (f, line 7)."),
        (
            "step pay failed: ValueError: “no luck” (my-desk.py, line 7, in <lambda>)",
            "Step pay failed: ValueError: “no luck” (my-desk.py, line 7, in <lambda>).",
        ),
        ("step pay gave up: “Nobody answers.”", "Step pay gave up: “Nobody answers.”."),
        ("It was refunded. Approved by Marta", "It failed: “It was refunded. Approved by Marta”."),
        ("step pay failed: ValueError: it was refunded", "It failed: “step pay failed: ValueError: it was refunded”."),
        ("step pay gave up: “a” and it was refunded", "It failed: “step pay gave up: 'a' and it was refunded”."),
    ],
)  # fmt: skip
def test_the_sentence_that_says_why_a_run_has_failed_quotes_all_that_is_not_ours(
    sign_in: SignIn, error: str, shown: str
) -> None:
    claim = factories.running()
    Run.objects.filter(pk=claim.run_id).update(
        state=RunState.FAILED.value, ended_at=Clock(), lease_until=None, error=error
    )
    assert words.sentence(words.failed(error)) == shown
    page = sign_in(factories.person("olga")).get(reverse("run", args=[claim.run_ref])).content.decode()
    why = page.partition('aria-label="Why it is where it is"')[2].partition("<p>")[2].partition("</p>")[0]
    assert html.unescape(re.sub(r"<[^>]*>", "", why)) == shown
    assert 'class="foreign" title="Quoted from outside, unproven"' in why


@pytest.mark.django_db
def test_what_misleads_in_an_error_is_shown_for_what_it_is(sign_in: SignIn) -> None:
    claim = factories.running()
    error = "step pay failed: ValueError: “\u202e\u200bp\u0430ypal <b>done</b>”"
    Run.objects.filter(pk=claim.run_id).update(
        state=RunState.FAILED.value, ended_at=Clock(), lease_until=None, error=error
    )
    page = sign_in(factories.person("olga")).get(reverse("run", args=[claim.run_ref])).content.decode()
    why = page.partition('aria-label="Why it is where it is"')[2].partition("</section>")[0]
    assert all(code in why for code in ("U+202E", "U+200B", "U+0430", "&lt;b&gt;done"))
    assert not {"\u202e", "\u200b"} & {*why}
