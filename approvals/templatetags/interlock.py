"""What every page needs: badges, icons, money, moments, and text that shows what it is: `{% load interlock %}`."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any
from urllib.parse import urlencode

from django import template
from django.templatetags.static import static
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from approvals import access, appearance, moments, payload
from approvals import visible as text_view
from approvals.capabilities import Capability
from durable.errors import Invalid
from durable.money import written

register = template.Library()
NONE = "\N{EN DASH}"
_QUOTED = re.compile("“([^“”]*)”")
_UNPROVEN = "Quoted from outside, unproven"


@register.simple_tag
def icon(name: str, label: str = "", css: str = "") -> SafeString:
    """A symbol of the sprite. Silent beside a word; with `label` it speaks for itself. `css` adds classes."""
    return _symbol(name, label, css, static("img/icons.svg"))


# A page of 50 rows shows hundreds of a few dozen different ones.
@lru_cache(maxsize=1_000)
def _symbol(name: str, label: str, css: str, sprite: str) -> SafeString:
    href = f"{sprite}#{name}"
    classes = f"i {css}".rstrip()
    if label:
        return format_html(
            '<svg class="{}" role="img" aria-label="{}"><use href="{}"/></svg>', classes, label, href
        )
    return format_html('<svg class="{}" aria-hidden="true"><use href="{}"/></svg>', classes, href)


@register.simple_tag
def state_badge(state: str, label: str = "") -> SafeString:
    """A state's one look: tone, icon and word. `label` replaces the word, never the look."""
    word = str(state)
    tone, symbol = appearance.of(word)
    shown = label or word[:1].upper() + word[1:]
    return format_html('<span class="badge t-{}">{}{}</span>', tone, icon(symbol), shown)


@register.simple_tag
def look(word: str) -> appearance.Appearance:
    """Tone and icon of a state or ledger event, for strips and timelines: `{% look event.kind as it %}`."""
    return appearance.of(str(word))


@register.simple_tag
def class_badge(name: str) -> SafeString:
    """A tool's class: square, without a state's colour."""
    word = str(name)
    symbol = icon(appearance.CLASSES.get(word, "question-mark"))
    return format_html('<span class="class class-{}">{}{}</span>', word, symbol, word.capitalize())


@register.simple_tag(takes_context=True)
def may(context: template.Context, right: str) -> bool:
    """Whether the reader has a right, by its codename: `{% may "see_ledger" as may_read %}`."""
    request = context.get("request")
    return request is not None and access.may(request.user, Capability(right))


@register.simple_tag(takes_context=True)
def log_of(context: template.Context, key: str, value: object) -> str:
    """Where the log has all acts of a kind, or on an object: `{% log_of "about:" run.id as log_url %}`.

    Empty for who may not read it, and where there is no such object.
    """
    request = context.get("request")
    if not value or request is None or not access.may(request.user, Capability.SEE_LOG):
        return ""
    return f"{reverse('acts')}?{urlencode({'q': f'{key}{value}'})}"


@register.simple_tag(takes_context=True)
def hold_of(context: template.Context, name: str, value: object) -> str:
    """Where a legal hold is set: on a `run`, a `subject` (by its keyed hash), a search (`q`). Empty for who may not."""
    request = context.get("request")
    if not value or request is None or not access.may(request.user, Capability.HOLD_LEGALLY):
        return ""
    return f"{reverse('legal-holds')}?{urlencode({name: value})}#set"


@register.simple_tag
def money(minor: int | None, currency: str) -> SafeString:
    """An amount from minor units, exact, with its currency's own decimals: `{% money 18450 "EUR" %}` is 184.50 EUR."""
    return format_html('<span class="nowrap">{}</span>', amount(minor, currency))


@register.simple_tag
def amount(minor: int | None, currency: str) -> str:
    """The same as plain text, for sentences and buttons: `{% amount 1240000 "JPY" as sum %}`."""
    if minor is None:
        return NONE
    try:
        return f"{written(minor, currency, grouped=True)} {currency}"
    except Invalid:  # a page shows what is stored, whatever it is
        return f"{minor} minor units of {plain(currency)}"


@register.simple_tag(takes_context=True)
def when(context: template.Context, moment: datetime | None, form: str = "full") -> SafeString | str:
    """A moment in the reader's zone, named, with how far off it is. `form` is one of:
    full (14:20 CET, in 5 min), absolute (14:20 CET), short (14:20, in lists), clock (14:20:05), relative (in 5 min),
    age (5 min), whole (24 Nov 2026, 14:20:05 CET).

    Distance is measured from the context's `now` (the database's clock) where a view gives one.
    """
    if moment is None:
        return NONE
    now = context.get("now") or timezone.now()
    away = distance(moment - now)
    if form == "relative":
        shown = away
    elif form == "age":
        shown = span(now - moment)
    elif form == "whole":
        shown = moments.whole(moment)
    else:
        shown = _clock(moment, now, form)
    beside = format_html(' <span class="second">{}</span>', away) if form == "full" else ""
    whole = moments.whole(moment)
    machine = moment.astimezone(UTC).isoformat(timespec="seconds")
    return format_html('<time datetime="{}" title="{}">{}</time>{}', machine, whole, shown, beside)


def _clock(moment: datetime, now: datetime, form: str) -> str:
    """`14:20 CET` today, `24 Nov 2026, 16:02 CET` else; `clock` is for lists that name the day themselves."""
    if form == "clock":
        return f"{timezone.localtime(moment):%H:%M:%S}"
    return moments.absolute(moment, now, zone=form != "short")


def distance(delta: timedelta) -> str:
    """How far off in words: `in 2 h 40 min`, `5 h 3 min ago`, `now`."""
    seconds = round(abs(delta.total_seconds()))
    if seconds < 1:
        return "now"
    return f"in {span(seconds)}" if delta > timedelta(0) else f"{span(seconds)} ago"


@register.filter
def span(seconds: float | timedelta) -> str:
    """A duration with its two leading units: `40 s`, `12 min`, `2 h 40 min`, `1 d 2 h`."""
    whole = round(seconds.total_seconds() if isinstance(seconds, timedelta) else seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min"
    if whole < 86_400:
        hours, minutes = whole // 3600, whole % 3600 // 60
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    days, hours = whole // 86_400, whole % 86_400 // 3600
    return f"{days} d {hours} h" if hours else f"{days} d"


@register.filter
def visible(value: object) -> SafeString:
    """One line of foreign text: escaped, isolated from its neighbours' direction, with hidden characters marked."""
    return _drawn(text_view.pieces(str(value)), "")


@register.filter
def visible_lines(value: object) -> SafeString:
    """The same for text of several lines, whose breaks are kept."""
    return _drawn(text_view.pieces(str(value), lines=True), "lines")


@register.filter
def told(value: object) -> SafeString:
    """A sentence of ours: what it quotes from outside (`durable.text.quoted`) is drawn as foreign, all else as ours."""
    parts = enumerate(_QUOTED.split(str(value)))
    return format_html_join(
        "", "{}", ((foreign(part) if place % 2 else visible(part),) for place, part in parts if part)
    )


@register.filter
def foreign(value: object) -> SafeString:
    """Words of an agent, a tool, a vendor or a person among ours: between quotation marks, and marked as unproven."""
    return format_html('<q class="foreign" title="{}">“{}”</q>', _UNPROVEN, visible(value))


@register.filter
def plain(value: object) -> str:
    """The same without markup, for a page's title and for labels: `pay[U+202E]ee`."""
    return "".join(
        f"{piece.text if piece.seen else ''}[{piece.code}]" if piece.code else piece.text
        for piece in text_view.pieces(str(value))
    )


@register.filter
def suspicious(value: object) -> int:
    """How many characters of the text hide or mislead; 0 for ordinary writing."""
    return text_view.suspicious(str(value))


def _drawn(pieces: list[text_view.Piece], css: str) -> SafeString:
    inner: str
    if len(pieces) == 1 and not pieces[0].code:  # nearly all there is: a page shows hundreds
        inner = pieces[0].text
    else:
        drawn = ((_marker(piece) if piece.code else piece.text,) for piece in pieces)
        inner = format_html_join("", "{}", drawn)
    return format_html('<bdi class="{}">{}</bdi>', css, inner) if css else format_html("<bdi>{}</bdi>", inner)


def _marker(piece: text_view.Piece) -> SafeString:
    times = f" \N{MULTIPLICATION SIGN}{piece.count}" if piece.count > 1 else ""
    shown = piece.text if piece.seen else ""
    return format_html(
        '<span class="cp" title="{}">{}<span class="cp-code">{}{}</span><span class="sr"> {}</span></span>',
        piece.note, shown, piece.code, times, piece.note,
    )  # fmt: skip


@register.simple_tag
def payload_lines(canonical: str | bytes) -> payload.Payload:
    """A payload's lines, size and warnings, from canonical JSON: `{% payload_lines canonical as shown %}`."""
    return payload.read(canonical)


@register.inclusion_tag("approvals/_bar.html")
def bar(spent: float, reserved: float, limit: float, label: str = "") -> dict[str, Any]:
    """A gauge: solid for spent, hatched for reserved, both against the limit. `label` says the same in words."""
    whole = max(float(limit), float(spent) + float(reserved), 1e-9)
    used, kept = float(spent) / whole * 100, float(reserved) / whole * 100
    return {"used": f"{used:.2f}%", "kept": f"{kept:.2f}%", "label": label, "hatched": kept > 0}


@register.inclusion_tag("approvals/_key_bar.html", takes_context=True)
def key_bar(
    context: template.Context, first_sent: datetime, half_at: datetime, end_at: datetime
) -> dict[str, Any]:
    """A key's life to scale: what is over, what is safe to repeat, and hatched, what is not."""
    now = context.get("now") or timezone.now()
    whole = max((end_at - first_sent).total_seconds(), 1)
    here = min(max((now - first_sent).total_seconds() / whole, 0), 1) * 100
    half = min(max((half_at - first_sent).total_seconds() / whole, 0), 1) * 100
    safe = max(half - here, 0)
    shares = {"here": here, "safe": safe, "from": max(half, here), "risky": 100 - max(half, here)}
    return {name: f"{share:.2f}%" for name, share in shares.items()}


@register.filter
def count(number: int) -> str:
    """A number of things, grouped for the eye. Never for ids."""
    return f"{number:,}"


@register.filter
def initials(name: object) -> str:
    """Up to two initials of a person's name, for the round mark beside it."""
    words = [word for word in str(name).split() if word[0].isalnum()]
    return "".join(word[0] for word in (words[:1] + words[1:][-1:])).upper() or "?"
