"""What waits is one number: beside the menu, over the inbox, on the first page and row by row, for everybody."""

from __future__ import annotations

import re
from datetime import timedelta
from itertools import pairwise

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from approvals.models import Gate
from approvals.queries import finding, pages
from approvals.run_query import STATUSES
from durable import recovery
from durable.models import Effect, Run, Wait
from durable.models.fields import Clock
from durable.states import RunState
from tests import factories
from tests.approvals.conftest import SignIn
from tests.engine.people import person

pytestmark = pytest.mark.django_db
ROLES = ("alice", "bob", "olga", "rita", "ada")


def opened() -> list[Gate]:
    """Ten gates of forks and of later steps, three of them of runs whose parent has ended, and two that are over."""
    parent = Run.objects.get(pk=factories.running().run_id)
    gates = []
    for number in range(10):
        claim = factories.running(agent=f"desk_{number % 3}")
        step = "pay" if number % 2 else "pay_rest"
        factories.propose(claim, step=step, order=f"88{number:02}", amount="150", currency="EUR")
        factories.suspend(claim)
        gates.append(Gate.objects.get(effect__run=claim.run_id))
        if number < 3:
            Run.objects.filter(pk=claim.run_id).update(parent=parent)
    Run.objects.filter(pk=parent.pk).update(
        state=RunState.COMPLETED.value, ended_at=Clock(), lease_until=None
    )
    over = gates[8:]
    Gate.objects.filter(pk__in=[gate.pk for gate in over]).update(state="expired", closed_at=Clock())
    Effect.objects.filter(pk__in=[gate.effect_id for gate in over]).update(state="expired")
    Wait.objects.filter(pk__in=[gate.wait_id for gate in over]).update(state="expired", closed_at=Clock())
    return gates


def rows(client: Client) -> int:
    """The gates that the inbox lists, on all of its pages."""
    found: set[int] = set()
    address = reverse("gates")
    while True:
        queue = client.get(address).context["queue"]
        found |= {*queue["ids"]}
        if not queue["older"]:
            return len(found)
        address = f"{reverse('gates')}?after={queue['older']}"


def numbers(client: Client) -> dict[str, str]:
    """The number of gates that wait, from every place that shows one."""
    page = client.get(reverse("gates"))
    text = page.content.decode()
    home = client.get(reverse("home"))
    parts = client.get(reverse("counts"), {"seen": "x"}, headers={"HX-Request": "true"}).content.decode()
    badge = re.search(r'id="count-gates"[^>]*>([^<]*)<', text)
    polled = re.search(r'id="count-gates"[^>]*>([^<]*)<', parts)
    title = re.search(r"<title>Inbox \((\d+)\)", text)
    tile = next(one for one in home.context["figures"] if one["href"] == reverse("gates"))
    assert badge is not None and polled is not None and title is not None
    return {
        "badge": badge[1] or "0",
        "badge, live": polled[1] or "0",
        "title": title[1],
        "head": str(page.context["queue"]["total"]),
        "first page": tile["value"],
        "rows": str(rows(client)),
        "runs": client.get(reverse("runs"), {"q": "status:gate"}).context["page"]["total"],
    }


def agree(sign_in: SignIn, waiting: int) -> None:
    for name in ROLES:
        assert {*numbers(sign_in(person(name))).values()} == {str(waiting)}, (name, waiting)


def test_every_number_of_what_waits_is_the_same_for_everybody_at_all_times(sign_in: SignIn) -> None:
    gates = opened()
    agree(sign_in, 8)
    Gate.objects.filter(pk=gates[0].pk).update(decide_by=Clock() - timedelta(seconds=1))
    Wait.objects.filter(pk=gates[0].wait_id).update(deadline=Clock() - timedelta(seconds=1))
    recovery.sweep()
    assert Gate.objects.get(pk=gates[0].pk).state == "expired"
    agree(sign_in, 7)
    Gate.objects.filter(state="open").update(state="withdrawn", closed_at=Clock())
    Effect.objects.filter(state="gated").update(state="withdrawn")
    Wait.objects.filter(kind="gate").update(state="withdrawn", closed_at=Clock())
    agree(sign_in, 0)


def test_a_filter_of_the_runs_counts_as_many_as_it_lists(sign_in: SignIn) -> None:
    opened()
    olga = sign_in(person("olga"))
    totals = []
    for query in ("status:gate agent:desk_0", "status:gate agent:desk_1", "status:gate agent:desk_2"):
        page = olga.get(reverse("runs"), {"q": query}).context["page"]
        assert str(page["shown"]) == page["total"]
        totals.append(int(page["total"]))
    whole = olga.get(reverse("runs"), {"q": "status:gate"}).context["page"]["total"]
    assert sum(totals) == int(whole) and all(one > 0 for one in totals)
    assert len({*totals}) <= 2 and all(abs(a - b) <= 1 for a, b in pairwise(totals))


def test_what_is_counted_the_same_each_time_is_what_the_list_has_and_ends_with_the_readers_day() -> None:
    opened()
    every = [(), *((status,) for status in STATUSES), ("stuck", "failed")]
    with timezone.override("Asia/Kolkata"):
        told = pages.counts([finding.of_all(statuses) for statuses in every])
        listed = [finding.having_any_of(Run.objects.all(), statuses) for statuses in every]
        assert told == pages.counts(listed) and sum(told) > told[0] > 0
        there = finding.of_all(("expiring",))
    here = finding.of_all(("expiring",))
    assert "Asia/Kolkata" in there.values and "Asia/Kolkata" not in here.values
