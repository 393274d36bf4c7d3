"""The list of runs: what each query finds, chips that agree with it, and completions."""

from __future__ import annotations

import re
from datetime import timedelta
from html import unescape
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from approvals.models import Gate
from approvals.queries import finding
from approvals.run_query import parse
from durable.models import Run, Wait
from durable.models.fields import Clock
from durable.states import RunState
from durable.tools import isolated
from tests import factories
from tests.approvals.test_gate_cases import words_of

pytestmark = pytest.mark.django_db


def listed(client: Client, query: str) -> list[str]:
    return [run["id"] for run in client.get(reverse("runs"), {"q": query}).context["runs"]]


def stuck(name: str = "retries spent") -> Run:
    run = factories.suspend(factories.running())
    Wait.objects.create(run=run, kind="attention", name=name, waits_for="operator")
    return run


def in_state(state: RunState, **more: Any) -> Run:
    claim = factories.running(**more)
    Run.objects.filter(pk=claim.run_id).update(state=state.value, lease_until=None)
    return Run.objects.get(pk=claim.run_id)


def test_each_status_finds_its_runs_and_no_others(olga: Client) -> None:
    runs = {state.value: in_state(state).ref for state in RunState if state != RunState.SUSPENDED}
    bad, doubtful, gated = stuck().ref, stuck("in doubt").ref, factories.gate().effect.run.ref
    for state, ref in runs.items():
        assert listed(olga, f'status:"{state}"') == [ref], state
    assert listed(olga, "status:stuck") == [doubtful, bad]
    assert listed(olga, "status:in-doubt") == [doubtful]
    assert listed(olga, "status:waiting") == [gated]
    assert listed(olga, "status:suspended") == [gated, doubtful, bad]
    assert listed(olga, "status:failed,waiting,in-doubt") == [gated, doubtful, runs["failed"]]


def test_runs_are_found_by_id_agent_subject_and_age(olga: Client) -> None:
    old = in_state(RunState.COMPLETED, ref="run-0old", agent="StockDesk")
    Run.objects.filter(pk=old.pk).update(created_at=Clock() - timedelta(days=3))
    gate, new = factories.gate().effect.run.ref, in_state(RunState.QUEUED, agent="RefundDesk").ref
    found = {
        "agent:stockdesk": ["run-0old"],
        "agent:Sto": ["run-0old"],
        "agent:nobody": [],
        "stockdesk": ["run-0old"],
        "ref:run-0o": ["run-0old"],
        "run-0old:pay#2": ["run-0old"],
        "run-0": ["run-0old"],
        "un-0old": [],
        "older-than:2d": ["run-0old"],
        "older-than:4d": [],
        "subject:8812": [gate],
        "8812": [gate],
        "881": [],
        "8812 status:queued": [],
        "agent:RefundDesk status:queued": [new],
    }
    assert {query: listed(olga, query) for query in found} == found


def test_an_agents_name_that_begins_an_id_too_finds_both(olga: Client) -> None:
    by_agent, by_id = in_state(RunState.QUEUED, agent="run-desk"), in_state(RunState.QUEUED, ref="run-desk-7")
    assert listed(olga, "run-desk") == [by_id.ref, by_agent.ref]


def test_what_expires_today_is_a_list_of_its_own(olga: Client) -> None:
    soon, later = factories.gate(), factories.gate()
    Wait.objects.filter(pk=soon.wait_id).update(deadline=Clock())
    Wait.objects.filter(pk=later.wait_id).update(deadline=Clock() + timedelta(days=2))
    assert listed(olga, "status:expiring") == [soon.effect.run.ref]


def test_every_chip_counts_the_list_that_it_opens(olga: Client) -> None:
    for state in RunState:
        in_state(state, agent="StockDesk")
    stuck(), factories.gate()
    for query in ("", "agent:StockDesk", "status:stuck", "agent:StockDesk status:failed"):
        counts = olga.get(reverse("runs"), {"q": query}).context["counts"]
        chips = counts["views"] + counts["states"]
        assert len(counts["states"]) == len(RunState)
        for chip in chips:
            page = olga.get(f"{reverse('runs')}?{chip['query']}")
            assert str(len(page.context["runs"])) == chip["count"] == page.context["page"]["total"], chip


def test_the_badge_of_the_menu_opens_exactly_what_it_counts(olga: Client) -> None:
    stuck(), stuck("in doubt"), factories.gate(), in_state(RunState.FAILED)
    page = olga.get(reverse("runs"))
    (item,) = [i for group in page.context["nav"] for i in group["items"] if i["label"] == "Stuck"]
    assert item["count"] == "2"
    (href,) = re.findall(r'<a href="([^"]+)"[^>]*title="Stuck"', page.content.decode())
    opened = olga.get(unescape(href))
    assert opened.context["page"]["total"] == "2"
    current = [i["label"] for group in opened.context["nav"] for i in group["items"] if i["current"]]
    assert current == ["Stuck"]


def test_the_older_address_of_a_state_still_opens_its_list(olga: Client) -> None:
    ref = stuck().ref
    page = olga.get(reverse("runs"), {"state": "stuck"})
    assert [run["id"] for run in page.context["runs"]] == [ref]
    assert page.context["q"] == "status:stuck"


def test_a_query_with_a_mistake_lists_nothing_and_says_what_is_wrong(olga: Client) -> None:
    stuck()
    page = olga.get(reverse("runs"), {"q": "status:stuck older-than:soon"})
    assert page.status_code == 200 and page.context["runs"] == []
    body = page.content.decode()
    assert "older-than: must be like 30m, 4h or 2d, not “soon”." in words_of(body)
    assert 'value="status:stuck older-than:soon"' in body and 'aria-invalid="true"' in body


def test_completions_continue_what_was_typed(olga: Client) -> None:
    in_state(RunState.QUEUED, agent="StockDesk")

    def offered(text: str) -> list[str]:
        page = olga.get(reverse("run-suggestions"), {"q": text}).content.decode()
        return [unescape(value) for value in re.findall(r'value="([^"]*)"', page)]

    assert offered("")[:2] == ["status:", "agent:"]
    assert offered("agent:st") == ["agent:StockDesk"]
    assert offered("stu") == ["status:stuck"]
    assert offered("status:stuck ") == [
        f"status:stuck {key}:" for key in ("agent", "subject", "older-than", "from", "to", "ref")
    ]
    assert "status:stuck older-than:4h" in offered("status:stuck older-than:")
    assert offered("<b>") == []


def test_no_query_reads_more_often_than_a_page_may(olga: Client) -> None:
    in_state(RunState.QUEUED, agent="run-desk", ref="run-desk-1")
    query = "status:queued,stuck agent:run-desk older-than:1m subject:8812 ref:run run-desk"
    olga.get(reverse("runs"), {"q": query})
    with CaptureQueriesContext(connection) as asked:
        assert olga.get(reverse("runs"), {"q": query}).status_code == 200
    assert len(asked) <= 15


def test_an_age_passes_no_run_that_is_younger_however_ids_lie(olga: Client) -> None:
    for days in range(9, 0, -1):
        run = in_state(RunState.COMPLETED)
        Run.objects.filter(pk=run.pk).update(created_at=Clock() - timedelta(days=days))
        Gate.objects.count()
    for days in range(1, 9):
        found = finding.filtered("", f"older-than:{days}d")
        assert found.count() == Run.objects.filter(created_at__lt=Clock() - timedelta(days=days)).count()


def test_pages_of_runs_skip_and_double_nothing_while_runs_arrive(olga: Client) -> None:
    refs = [in_state(RunState.QUEUED).ref for _ in range(120)]
    page = olga.get(reverse("runs"), {"q": "status:queued"})
    seen = [run["id"] for run in page.context["runs"]]
    in_state(RunState.QUEUED)
    while page.context["page"]["older"]:
        page = olga.get(reverse("runs"), {"q": "status:queued", "after": page.context["page"]["older"]})
        seen += [run["id"] for run in page.context["runs"]]
    assert seen == refs[::-1]


def test_a_run_is_found_by_its_order_where_the_code_of_its_agent_cannot_be_loaded(olga: Client) -> None:
    run = factories.gate().effect.run
    with isolated(empty=True):
        for query in ("subject:8812", "8812"):
            found = [one.ref for part in finding.found(parse(query)) for one in part]
            assert found == [run.ref], query


def test_an_age_finds_older_runs_also_where_a_few_were_committed_out_of_order(olga: Client) -> None:
    hours = (9, 8, 2, 7, 3, 6, 1)
    runs = [in_state(RunState.QUEUED) for _ in hours]
    for run, age in zip(runs, hours, strict=True):
        Run.objects.filter(pk=run.pk).update(created_at=Clock() - timedelta(hours=age))
    older = {run.ref for run, age in zip(runs, hours, strict=True) if age > 5}
    assert set(listed(olga, "older-than:5h")) == older
