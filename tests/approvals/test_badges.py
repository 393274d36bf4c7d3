"""A state has one colour and one icon, and a word beside them."""

from __future__ import annotations

import re
from enum import StrEnum
from pathlib import Path

import pytest
from django.conf import settings
from django.template import Context, Template

from approvals import appearance
from durable.states import Attention, EffectClass, EffectState, EventKind, RunState, WaitKind, WaitState

STATIC = Path(settings.BASE_DIR) / "static"
EVERY_WORD: list[StrEnum] = [*RunState, *EffectState, *WaitKind, *WaitState, *Attention, *EventKind]


def drawn(source: str, **context: object) -> str:
    return Template("{% load interlock %}" + source).render(Context(context))


@pytest.mark.parametrize("word", EVERY_WORD)
def test_every_state_and_event_of_the_engine_has_a_look(word: StrEnum) -> None:
    assert appearance.of(word.value) is not appearance.UNLISTED


def test_every_class_has_an_icon() -> None:
    assert set(appearance.CLASSES) == {one.value for one in EffectClass}


def test_every_icon_that_is_named_is_in_the_sprite() -> None:
    sprite = set(re.findall(r'<symbol id="([^"]+)"', (STATIC / "img" / "icons.svg").read_text()))
    named = {look.icon for look in (*appearance.STATES.values(), *appearance.EVENTS.values())}
    for template in (Path(settings.BASE_DIR) / "templates").rglob("*.html"):
        named.update(re.findall(r'(?:icon|icon_name)[ =]"([a-z0-9-]+)"', template.read_text()))
    assert named | set(appearance.CLASSES.values()) <= sprite


def written(*folders: str) -> str:
    """All templates and code of these folders, one after the other."""
    files = (file for folder in folders for file in (Path(settings.BASE_DIR) / folder).rglob("*.*"))
    return "".join(file.read_text() for file in files if file.suffix in (".html", ".py"))


def test_every_icon_of_the_sprite_is_named_somewhere() -> None:
    sprite = re.findall(r'<symbol id="([^"]+)"', (STATIC / "img" / "icons.svg").read_text())
    text = written("templates", "approvals")
    assert [name for name in sprite if f'"{name}"' not in text and f"'{name}'" not in text] == []


def test_every_tone_has_its_colours() -> None:
    tokens = (STATIC / "css" / "tokens.css").read_text()
    tones = {look.tone for look in (*appearance.STATES.values(), *appearance.EVENTS.values())}
    assert {tone for tone in tones if f".t-{tone} " not in tokens} == set()


def test_a_badge_says_its_word_beside_colour_and_icon() -> None:
    badge = drawn("{% state_badge state %}", state=EffectState.IN_DOUBT)
    assert "t-doubt" in badge
    assert "#zoom-question" in badge
    assert "In doubt" in badge


def test_a_word_that_nobody_listed_is_escaped_and_quiet() -> None:
    badge = drawn("{% state_badge state %}", state="<b>odd\u202e")
    assert "&lt;b&gt;odd" in badge.lower()
    assert "t-quiet" in badge


def test_a_class_is_no_state_and_bears_no_tone() -> None:
    badge = drawn("{% class_badge name %}", name=EffectClass.IRREVERSIBLE)
    assert "class-irreversible" in badge
    assert "t-" not in badge


def test_an_icon_alone_carries_a_name() -> None:
    assert 'aria-hidden="true"' in drawn('{% icon "eye" %}')
    assert 'aria-label="Look"' in drawn('{% icon "eye" "Look" %}')


def test_a_gauge_is_drawn_without_a_style() -> None:
    gauge = drawn("{% bar 25 50 100 words %}", words="25 spent, 50 reserved of 100")
    assert "style" not in gauge
    assert 'width="25.00%"' in gauge
    assert 'x="25.00%" width="50.00%"' in gauge
    assert "25 spent, 50 reserved of 100" in gauge


def test_a_gauge_beyond_its_limit_stays_within_its_box() -> None:
    used, kept = re.findall(
        r'<rect (?:class="used"|x="[^"]+") width="([\d.]+)%"', drawn("{% bar 150 50 100 %}")
    )
    assert (used, kept) == ("75.00", "25.00")
