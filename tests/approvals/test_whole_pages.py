"""Every page at its address: whole whenever a whole one is asked for, kept by no cache, its numbers no matter where."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.urls import resolve, reverse
from django.utils.html import strip_tags

from approvals.models import Gate
from tests import factories
from tests.approvals.conftest import SignIn
from tests.approvals.house import House, full, lists_beyond
from tests.approvals.test_query_bounds import kind_of

pytestmark = pytest.mark.django_db

#: Addresses for machines, and a fragment that is no page of its own.
NO_PAGES = ("/metrics", "/healthz", "/readyz", "/run-suggestions/", "/ledger-suggestions/")
LINKS = re.compile(r'(?:href|action|hx-get)="(/[^"#]*)"')
ATTRIBUTES = re.compile(r'\b(?:href|action|hx-get|id|for|name|value|data-[a-z]+)="([^"]*)"')
#: A number as people write it, which no machine reads.
GROUPED = re.compile(r"\b\d{1,3}(?:[.,'\u2019\u00a0\u202f ]\d{3})+\b")
DRAWN = re.compile(r'\b(?:x|y|x1|x2|y1|y2|width|height)="([^"]*,[^"]*)"')
MANY = 12_345


def test_back_reload_and_a_pasted_address_bring_a_whole_page_that_no_cache_has_kept(sign_in: SignIn) -> None:
    house = full()
    olga = sign_in(house.cast["olga"])
    htmx = {"HX-Request": "true"}
    paths = {kind_of(path): path for path in [*lists_beyond(), *house.pages()[::-1]]}
    for path in paths.values():
        whole = olga.get(path)
        if whole.status_code != 200 or path.startswith(NO_PAGES):
            continue
        part = olga.get(path, headers=htmx)
        for kind in ("HX-History-Restore-Request", "HX-Boosted"):
            again = olga.get(path, headers={**htmx, kind: "true"})
            assert again.content.startswith(b"<!doctype html>") and b"</html>" in again.content, (path, kind)
            assert "no-store" in again["Cache-Control"]
        assert "no-store" in whole["Cache-Control"] and "no-store" in part["Cache-Control"], path
        if not part.content.startswith(b"<!doctype html>"):
            assert "HX-Request" in whole["Vary"] and "HX-Request" in part["Vary"], path


def test_every_link_and_every_form_leads_somewhere_however_large_the_ids_are(sign_in: SignIn) -> None:
    house, large = used_for_long()
    followed: dict[tuple[str, ...], tuple[str, str]] = {}
    for who, paths in (
        ("olga", house.pages()),
        ("alice", [reverse("gate", args=[large.pk]), "/gates/", "/"]),
    ):
        client = sign_in(house.cast[who])
        for path in paths:
            page = shown(client, path)
            assert [one for one in ATTRIBUTES.findall(page) if GROUPED.search(one)] == [], path
            followed |= {sort(link): (unescape(link), who) for link in LINKS.findall(page)}
    assert len(followed) > 40
    assert [link for link, who in followed.values() if not there(house.signs_in(who), link)] == []


def sort(link: str) -> tuple[str, ...]:
    """What tells a link from others that lead to the same page with the same kind of query."""
    place, _, query = link.partition("?")
    return ("static",) if place.startswith("/static/") else (kind_of(place), *re.findall(r"(\w+)=", query))


@pytest.mark.parametrize("language", ["de", "fr-ch"])
def test_no_language_changes_an_id_or_a_drawing_or_takes_the_currency_off_an_amount(
    language: str, sign_in: SignIn, settings: Any
) -> None:
    settings.LANGUAGE_CODE = language
    house, large = used_for_long()
    alice = sign_in(house.cast["alice"])
    at_gate, at_run = reverse("gate", args=[large.pk]), reverse("run", args=[large.effect.run.ref])
    for path in (
        "/",
        "/gates/",
        at_gate,
        "/runs/",
        at_run,
        "/ledger/",
        reverse("bulk-act", args=[house.bulk.pk]),
    ):
        page = shown(alice, path)
        assert [one for one in ATTRIBUTES.findall(page) if GROUPED.search(one)] == [], path
        assert DRAWN.findall(page) == [], path
    assert "Approve 1,234.50 EUR" in strip_tags(shown(alice, at_gate))


def used_for_long() -> tuple[House, Gate]:
    """A console whose ids are large, and a gate over a large amount in it."""
    for table in (
        "approvals_gate",
        "durable_run",
        "durable_effect",
        "approvals_bulkact",
        "approvals_runview",
    ):
        with connection.cursor() as cursor:
            sequence = f"pg_get_serial_sequence('{table}', 'id')"
            cursor.execute(f"SELECT max(nextval({sequence})) FROM generate_series(1, {MANY})")
    house, large = full(), factories.gate(amount="1234.50")
    assert large.pk > MANY and house.bulk.pk > MANY
    return house, large


def shown(client: Client, path: str) -> str:
    """A page's text; nothing for what is no page, and for what is not there."""
    answer = client.get(path)
    return "" if answer.status_code != 200 or path.startswith(NO_PAGES) else answer.content.decode()


def there(client: Client, link: str) -> bool:
    """Whether a link leads to something: a file, a page for this person, or an act, whose GET leads back to a page."""
    if link.startswith("/static/"):
        return True
    if resolve(link.partition("?")[0]).url_name == "counts":  # a part of every page, and no page
        return client.get(link, headers={"HX-Request": "true"}).status_code in (200, 204)
    return client.get(link, follow=True).status_code in (200, 405)
