"""Effects by a part of a name: found as long as the name is kept, never by a name in clear, gone once it is erased."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.urls import reverse

from approvals import moments
from durable import indexing, names, vault
from durable.clock import db_now
from durable.models import Effect, SubjectName
from tests import factories
from tests.approvals.conftest import SignIn

pytestmark = pytest.mark.django_db


@pytest.fixture
def reader(sign_in: SignIn) -> Client:
    return sign_in(factories.person("rita"))


def paid(*orders: str) -> list[Effect]:
    """An effect about each of these orders, each of a run of its own."""
    return [
        factories.propose(factories.running(), order=order, amount="5", currency="EUR") for order in orders
    ]


def page(reader: Client, q: str) -> Any:
    return reader.get(reverse("ledger"), {"q": q}).context


def found(reader: Client, q: str) -> list[str]:
    return sorted(row["subject"].removeprefix("order ").strip("“”") for row in page(reader, q)["effects"])


@pytest.mark.parametrize(
    ("q", "orders"),
    [
        ("order:*anna*", ["Joanna@example.org", "anna@example.org"]),
        ("order:anna*", ["anna@example.org"]),
        ("order:*.org", ["Joanna@example.org", "anna@example.org"]),
        ("order:*ANNA@*", ["Joanna@example.org", "anna@example.org"]),
        ("subject:*881*", ["8812", "98813"]),
        ("order:8812", ["8812"]),
        ("order:*stra\u00dfe*", ["Hauptstrasse 1"]),
        ("anna", ["Joanna@example.org", "anna@example.org"]),
        ("8812", ["8812"]),
        ("order:*anna* order:x", []),
        ("customer:*anna*", []),
    ],
)
def test_an_effect_is_found_by_a_part_of_the_name_of_its_subject(
    reader: Client, q: str, orders: list[str]
) -> None:
    paid("anna@example.org", "Joanna@example.org", "8812", "98813", "Hauptstrasse 1")
    indexing.catch_up(30)
    assert found(reader, q) == orders


def test_what_bears_the_parts_in_another_order_is_not_shown(reader: Client) -> None:
    paid("abcXbcd", "abcd")
    indexing.catch_up(30)
    assert set(names.grams("abcd")) <= set(names.grams("abcXbcd"))
    assert found(reader, "order:*abcd*") == ["abcd"]
    assert [name.text for name in page(reader, "order:*abcd*")["names"]] == ["abcd"]


def test_a_part_that_is_too_short_is_told_in_words(reader: Client) -> None:
    paid("8812")
    context = page(reader, "order:88*")
    assert context["problems"] == ["88: give at least 3 letters or digits beside the star."]
    assert context["effects"] == []


def test_a_part_of_too_many_names_is_told_in_words(reader: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("approvals.queries.subjects.MOST", 2)
    paid("8812", "8813", "8814")
    indexing.catch_up(30)
    assert page(reader, "order:881*")["problems"] == [
        "881: too many names hold this; give more of the one that you mean."
    ]


def test_a_name_is_gone_once_the_last_run_is_that_knows_it(reader: Client) -> None:
    first, second = paid("anna@example.org", "anna@example.org")
    indexing.catch_up(30)
    vault.destroy(first.run)
    gone = f"(no longer kept since {moments.day(db_now())})"
    assert found(reader, "order:*anna*") == [gone, "anna@example.org"]
    vault.destroy(second.run)
    assert not SubjectName.objects.exists()
    assert found(reader, "order:*anna*") == []
    # Who knows the whole name finds that something was done, and no more.
    assert found(reader, "order:anna@example.org") == [gone, gone]


def test_what_was_erased_before_it_was_indexed_is_never_named(reader: Client) -> None:
    (effect,) = paid("anna@example.org")
    vault.destroy(effect.run)
    indexing.catch_up(30)
    assert not SubjectName.objects.exists()


def test_the_index_shows_no_name_to_who_has_its_tables_and_not_the_keys() -> None:
    paid("anna.liebling@example.org", "anna.liebling@example.net")
    indexing.catch_up(30)
    with connection.cursor() as cursor:
        for table in ("durable_subjectname", "durable_effectgroup", "durable_effectcell", "durable_subject",
                      "durable_effect", "durable_ledgerevent"):  # fmt: skip
            cursor.execute(f"SELECT string_agg(t::text, ' ') FROM {table} t")
            text = str(cursor.fetchone()[0])
            assert len(text) > 20, table
            for clear in ("anna", "liebling", "example", b"anna".hex(), b"liebling".hex()):
                assert clear not in text, table


def test_a_text_that_is_no_name_says_how_else_it_may_be_meant(reader: Client) -> None:
    paid("8812")
    indexing.catch_up(30)
    assert [one["words"] for one in page(reader, "pay_out")["readings"]] == ["tool: pay_out"]
    assert [one["words"] for one in page(reader, "5.00 EUR")["readings"]] == ["amount: 5.00 EUR"]
    (reading,) = page(reader, "5.00 eur")["readings"]
    assert [
        row["tool"] for row in reader.get(f"{reverse('ledger')}?{reading['query']}").context["effects"]
    ] == ["pay_out"]


@pytest.mark.parametrize(
    "q", ["nothing of this sort", "order:\u0000", "x" * 500, "order:" + "y" * 400 + "*", ":::"]
)
def test_garbage_finds_nothing_and_says_so(reader: Client, q: str) -> None:
    paid("8812")
    answer = reader.get(reverse("ledger"), {"q": q})
    assert answer.status_code == 200
    assert answer.context["effects"] == []
    assert "Nothing found" in answer.content.decode() or "Nothing is listed" in answer.content.decode()
