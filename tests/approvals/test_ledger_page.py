"""The ledger's page: what a poll costs, what the sums cover, and how an effect is found."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from approvals.ledger_query import parse
from approvals.queries import pages, searching
from approvals.queries.totals import Money
from durable.clock import db_now
from durable.models import Effect
from tests import factories
from tests.approvals.conftest import SignIn

pytestmark = pytest.mark.django_db

HTMX = {"HX-Request": "true"}


@pytest.fixture
def reader(sign_in: SignIn) -> Client:
    return sign_in(factories.person("rita"))


def moved(amounts: list[str]) -> list[Effect]:
    """Effects that were applied, one each."""
    claim = factories.running()
    found = [
        factories.propose(claim, ordinal=n, order=str(n), amount=amount, currency="EUR")
        for n, amount in enumerate(amounts, 1)
    ]
    for effect in found:
        Effect.objects.filter(pk=effect.pk).update(state="applied", receipt_id=f"re_{effect.pk}")
    return found


def found(reader: Client, q: str) -> list[str]:
    return [row["key"] for row in reader.get(reverse("ledger"), {"q": q}).context["effects"]]


def test_a_poll_of_an_unchanged_ledger_sums_and_counts_nothing(reader: Client) -> None:
    moved(["5", "6"])
    version = reader.get(reverse("ledger")).context["version"]
    with CaptureQueriesContext(connection) as queries:
        assert reader.get(reverse("ledger"), {"seen": version}, headers=HTMX).status_code == 204
    asked = " ".join(query["sql"] for query in queries).upper()
    assert "SUM(" not in asked and "COUNT(" not in asked


def test_a_poll_notices_what_changed_on_another_page(reader: Client) -> None:
    moved(["1"] * (pages.PAGE + 1))
    page = reader.get(reverse("ledger")).context
    older = {"after": page["page"]["older"]}
    version = reader.get(reverse("ledger"), older).context["version"]
    factories.propose(factories.running(), order="9", amount="1", currency="EUR")
    assert reader.get(reverse("ledger"), {**older, "seen": version}, headers=HTMX).status_code == 200


def test_sums_cover_what_the_filter_lists(reader: Client) -> None:
    first, _, _ = moved(["5", "6", "7"])
    assert reader.get(reverse("ledger")).context["sums"] == [Money("EUR", applied=1800, count=3)]
    (only,) = reader.get(reverse("ledger"), {"q": f"re_{first.pk}"}).context["sums"]
    assert (only.applied, only.count) == (500, 1)


def test_a_long_list_is_summed_over_its_newest_and_says_so(reader: Client, two: None) -> None:
    moved(["5", "6", "7"])
    page = reader.get(reverse("ledger"), {"q": "amount:1.."})
    assert [one.applied for one in page.context["sums"]] == [1300]
    assert page.context["page"]["total"] == "2+"
    assert "Applied, 2 effects of the newest 2" in page.content.decode()


def test_an_effect_is_found_by_how_its_key_begins(reader: Client) -> None:
    effect, second = moved(["5", "6"])
    assert found(reader, effect.key) == [second.key, effect.key]  # the second's is the first's and #2
    assert found(reader, second.key) == [second.key]
    assert found(reader, effect.key.partition(":")[2]) == []


def test_a_receipt_is_found_by_its_whole_name(reader: Client) -> None:
    effect, _ = moved(["5", "6"])
    assert found(reader, f"re_{effect.pk}") == [effect.key]
    assert found(reader, "re_") == []


def test_a_name_that_is_looked_for_whole_and_not_found_is_offered_as_a_part_of_one(reader: Client) -> None:
    factories.propose(factories.running(), order="ABC-1234", amount="5", currency="EUR")
    said = reader.get(reverse("ledger"), {"q": "order:abc-123 currency:EUR"})
    assert said.context["effects"] == [] and "it did not happen here" not in said.content.decode()
    assert "Look for it as a part of a name" in said.content.decode()
    wider = reader.get(f"{reverse('ledger')}?{said.context['wider']}").context
    assert wider["problems"] == [] and wider["q"] == "order:*abc-123* currency:EUR"
    strong = reader.get(reverse("ledger"), {"q": "order:*abd*"})
    assert strong.context["wider"] == "" and "it did not happen here" in strong.content.decode()


def test_percent_and_underscore_are_letters_like_others(reader: Client) -> None:
    moved(["5"])
    for q in ("%", "_", "run%", "run_"):
        assert found(reader, q) == [], q


def test_a_search_walks_no_whole_table(reader: Client) -> None:
    effects = moved(["5"] * 3)
    with connection.cursor() as cursor:
        # In a table as small as a test's, walking it would be cheaper: that is taken away.
        for way in ("seqscan", "hashjoin", "mergejoin"):
            cursor.execute(f"SET LOCAL enable_{way} = off")
        plan = _plan(cursor, effects[0].key)
    for found_by in ("durable_run_ref", "receipt_once", "subject_of_run", "durable_effect_pkey"):
        assert found_by in plan, plan
    assert "Seq Scan" not in plan, plan


def _plan(cursor: Any, q: str) -> str:
    """The plans of all that a search asks of the effects, one below the other."""
    with CaptureQueriesContext(connection) as asked:
        list(searching.look_up(parse(q, db_now())).found.order_by("-pk").values("pk")[:50])
    lines = []
    for query in asked.captured_queries:
        if (
            "durable_subject" in query["sql"]
            or "durable_effect" in query["sql"]
            or "durable_run" in query["sql"]
        ):
            cursor.execute(f"EXPLAIN {query['sql']}")
            lines += [line for (line,) in cursor.fetchall() if "durable_effectgroup" not in line]
    return "\n".join(lines)


def test_the_states_are_counted_anew_with_the_rows_that_a_poll_brings(reader: Client) -> None:
    moved(["5", "6"])
    page = reader.get(reverse("ledger"))
    moved(["7"])
    body = reader.get(reverse("ledger"), {"seen": page.context["version"]}, headers=HTMX).content.decode()
    assert "3 of 3" in body
    assert 'id="states" aria-label="By state" hx-swap-oob="true"' in body and "All <span>3</span>" in body
    assert "hx-swap-oob" not in page.content.decode().partition("<main")[2]
