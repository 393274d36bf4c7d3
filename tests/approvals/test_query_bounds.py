"""No page asks the database more often because there is more to show."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import resolve, reverse

from approvals.models import Gate
from approvals.queries import behind
from approvals.queries import pages as listing
from durable.models import Branch, Budget, Checkpoint, Run
from durable.models.fields import Clock
from tests import factories
from tests.approvals import matrix
from tests.approvals.addresses import names
from tests.approvals.answering import edited
from tests.approvals.conftest import SignIn
from tests.approvals.house import full, lists_beyond

pytestmark = pytest.mark.django_db

MOST = 15
#: More than a page of each.
GATES, RUNS = 60, 60


@pytest.fixture
def busy() -> Gate:
    """More gates that wait, and more runs besides, than one page of a list shows."""
    gates = [factories.gate(amount=f"{101 + n}") for n in range(GATES)]
    budget, branch = Budget.objects.create(), Branch.objects.create()
    states = ("completed", "failed", "queued", "cancelled")
    Run.objects.bulk_create(
        Run(
            ref=f"run-q{n}", agent="refund_desk", input={"order": str(n)}, input_digest="0" * 64, requester="shop",
            state=states[n % 4], step="pay", budget=budget, branch=branch, due_at=None,
        )
        for n in range(RUNS)
    )  # fmt: skip
    return gates[-1]


def test_every_page_stays_within_its_bound(busy: Gate, sign_in: SignIn) -> None:
    house = full()
    paths = [*house.pages(), *lists_beyond(), reverse("gate", args=[busy.pk])]
    # Of things of one kind, each is asked of who may act on it, as those pages differ; the others see them alike.
    each = {kind_of(path): path for path in paths[::-1]}
    gates = [path for path in paths if path.startswith("/gates/")]
    erasures = [path for path in paths if path.startswith("/erasures/")]
    asked, shown = {}, set()
    for who, theirs in (("olga", paths), ("alice", gates), ("rita", []), ("ada", erasures)):
        client = sign_in(house.cast[who])
        for path in dict.fromkeys([*theirs, *each.values()]):
            with CaptureQueriesContext(connection) as queries:
                answer = client.get(path)
            asked[f"{path} for {who}"] = len(queries)
            if answer.status_code == 200 and b'class="empty"' not in answer.content:
                shown.add(kind_of(path))
    assert {name: count for name, count in asked.items() if count > MOST} == {}
    # Whatever takes a GET has shown something to somebody; what takes none is an act, the sign-in is for strangers,
    # and the menu's numbers are a part of every page.
    pages = {*names(), *(f"behind {name}" for name in behind.LISTS)}
    assert shown == pages - {*matrix.POSTS, "behind", "sign-in", "sign-out", "counts"}


def kind_of(path: str) -> str:
    """The name of the page at an address; each list behind a number of the first page is one of its own."""
    found = resolve(path.partition("?")[0])
    return " ".join([found.url_name or "", *([found.kwargs["name"]] if found.url_name == "behind" else [])])


def test_a_poll_of_an_unchanged_page_asks_next_to_nothing(busy: Gate, sign_in: SignIn) -> None:
    client = sign_in(factories.person("olga"))
    version = client.get(reverse("run", args=[busy.effect.run.ref])).context["run"]["version"]
    with CaptureQueriesContext(connection) as queries:
        answer = client.get(
            reverse("run", args=[busy.effect.run.ref]), {"seen": version}, headers={"HX-Request": "true"}
        )
    assert answer.status_code == 204
    assert len(queries) <= 6


def test_the_list_says_when_a_run_has_moved_last_though_its_state_is_an_hour_old(sign_in: SignIn) -> None:
    run = Run.objects.get(pk=factories.running().run_id)
    assert run.branch is not None
    Run.objects.filter(pk=run.pk).update(changed_at=Clock() - timedelta(hours=1))
    step = Checkpoint.objects.create(
        run=run, version=run.version, kind="step", step="pay", visit=1, next_step="pay", next_visit=2, attempt=1,
        state={}, state_version=run.version, progress={}, branch=run.branch, message_count=0,
    )  # fmt: skip
    step.refresh_from_db()
    (shown,) = sign_in(factories.person("olga")).get(reverse("runs")).context["runs"]
    assert shown["moved_at"] == step.at


def test_a_gate_with_rounds_behind_the_first_page_stays_within_the_bound_too(
    sign_in: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "PAGE", 1)
    factories.gate()
    newest = edited(factories.gate(), factories.person("bob"))
    client = sign_in(factories.person("olga"))
    with CaptureQueriesContext(connection) as queries:
        page = client.get(reverse("gate", args=[newest.pk]))
    assert page.context["queue"]["ids"] == [newest.pk] and page.context["rounds"]
    assert len(queries) <= MOST
