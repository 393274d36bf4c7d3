"""Lists that are longer than they are counted, and searches that would find too much."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from approvals import ledger_query
from approvals.bulk import draft
from approvals.models import BulkAct, Decision
from approvals.queries import finding, pages, searching, trends
from approvals.run_query import parse
from durable.clock import db_now
from durable.errors import Invalid
from durable.models import Run, Wait
from durable.models.fields import Clock
from durable.states import RunState
from tests import factories
from tests.approvals.test_gate_cases import words_of

pytestmark = pytest.mark.django_db

ABOUT = "8812"  # the order of `factories.propose`


def about_one_order(count: int, state: RunState = RunState.QUEUED) -> list[Run]:
    """Runs that have each asked for an effect about the same order."""
    runs = []
    for _ in range(count):
        claim = factories.running()
        factories.propose(claim, order=ABOUT, amount="5", currency="EUR")
        Run.objects.filter(pk=claim.run_id).update(state=state.value, lease_until=None)
        runs.append(Run.objects.get(pk=claim.run_id))
    return runs


def shown(client: Client, name: str, **query: str) -> Any:
    return client.get(reverse(name), query).context


def refs(page: Any) -> list[str]:
    return [run["id"] for run in page["runs"]]


def counts(page: Any) -> dict[str, str]:
    return {chip["label"]: chip["count"] for chip in page["counts"]["states"]}


def test_what_few_runs_have_in_common_is_counted_by_state_from_their_rows(olga: Client) -> None:
    about_one_order(3), about_one_order(2, RunState.FAILED)
    factories.running()
    page = shown(olga, "runs", q=f"subject:{ABOUT} status:failed")
    assert page["page"]["total"] == "2"
    assert {label: count for label, count in counts(page).items() if count != "0"} == {
        "Queued": "3",
        "Failed": "2",
    }


@pytest.mark.usefixtures("two")
def test_more_runs_about_one_order_than_are_counted_are_found_all_the_same(olga: Client) -> None:
    runs = about_one_order(4)
    for query in (f"subject:{ABOUT}", ABOUT):
        page = shown(olga, "runs", q=query)
        assert refs(page) == [run.ref for run in reversed(runs)], query
        assert page["page"]["total"] == "2+" and counts(page)["Queued"] == "2+"


@pytest.mark.usefixtures("two")
def test_the_beginning_of_too_many_ids_is_to_be_typed_on(olga: Client) -> None:
    about_one_order(3)
    for query in ("ref:run-", "run-", "run- status:queued"):
        page = shown(olga, "runs", q=query)
        assert refs(page) == []
        assert page["query"].problems == ("The ids of more than 2 runs begin with “run-”: type more of it.",)
    page = olga.get(reverse("ledger"), {"q": "run-"})
    assert page.context["effects"] == []
    told = "More than 2 effects have a key that begins with “run-”: type more of it."
    assert told in words_of(page.content.decode())


@pytest.mark.usefixtures("two")
def test_an_act_on_many_is_not_drafted_by_the_beginning_of_too_many_ids() -> None:
    about_one_order(3)
    with pytest.raises(Invalid, match="begin with “run-”: type more of it"):
        draft(factories.person("olga"), "holds", query=parse("ref:run-"))
    assert not BulkAct.objects.exists()


@pytest.mark.usefixtures("two")
def test_more_effects_about_one_order_than_are_counted_are_found_all_the_same(olga: Client) -> None:
    about_one_order(4)
    page = shown(olga, "ledger", q=ABOUT)
    assert len(page["effects"]) == 4 and page["page"]["total"] == "2+"
    assert {chip["label"]: chip["count"] for chip in page["filters"]}["All"] == "2+"
    assert "durable_subject" in str(searching.look_up(ledger_query.parse(ABOUT, db_now())).base.query)


def test_a_run_that_has_two_of_the_statuses_asked_for_is_listed_and_counted_once(olga: Client) -> None:
    run = factories.suspend(factories.running())
    Wait.objects.create(run=run, kind="attention", name="retries spent", waits_for="operator")
    other = about_one_order(1, RunState.COMPLETED)[0]
    page = shown(olga, "runs", q="status:stuck,suspended,completed")
    assert refs(page) == [other.ref, run.ref] and page["page"]["total"] == "2"


def test_pages_of_several_statuses_skip_and_double_nothing_forward_and_back(
    olga: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "PAGE", 2)
    runs = [about_one_order(1, state)[0] for state in (RunState.FAILED, RunState.COMPLETED) * 3]
    wanted = [run.ref for run in reversed(runs)]
    query = "status:completed,failed"
    page = shown(olga, "runs", q=query)
    forward = refs(page)
    while page["page"]["older"]:
        page = shown(olga, "runs", q=query, after=page["page"]["older"])
        forward += refs(page)
    assert forward == wanted
    back = refs(page)
    while page["page"]["newer"]:
        page = shown(olga, "runs", q=query, before=page["page"]["newer"])
        back = refs(page) + back
    assert back == wanted


def test_an_age_is_told_by_ids_also_where_some_were_committed_out_of_order() -> None:
    runs = about_one_order(6)
    minutes = (60, 50, 10, 40, 30, 5)  # the fourth and the fifth have ids behind a younger one
    for run, age in zip(runs, minutes, strict=True):
        Run.objects.filter(pk=run.pk).update(created_at=Clock() - timedelta(minutes=age))
    for age, found in (
        (70, []),
        (45, runs[:2]),
        (35, [*runs[:2], runs[3]]),
        (20, [*runs[:2], *runs[3:5]]),
        (1, runs),
    ):
        assert list(finding.filtered("", f"older-than:{age}m").order_by("pk")) == found, age


def test_decisions_are_counted_from_the_newest_back_whatever_numbers_they_bear() -> None:
    gates, alice = [factories.gate() for _ in range(3)], factories.person("alice")
    for number, gate in enumerate(gates, start=1):
        Decision.objects.create(
            pk=number * 100_000, gate=gate, person=alice, verdict="approve", digest=gate.digest, round=1,
            sealed=gate.payload, authenticated="session",
        )  # fmt: skip
    found = trends.decided(db_now() - timedelta(hours=1), most=2).order_by("pk")
    assert [one.gate_id for one in found] == [gate.pk for gate in gates[1:]]
