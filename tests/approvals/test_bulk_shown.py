"""An act on many runs does to each what was shown, or nothing: what has changed since says so, and the rest go on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from approvals import bulk, bulk_radius
from approvals.bulk_acts import BulkKind
from approvals.models import BulkAct
from approvals.run_query import parse
from durable import runs, steering
from durable.models import Run
from durable.states import RunState
from tests import factories
from tests.approvals.answering import answer
from tests.approvals.bulk_acts import olga, outcomes, told
from tests.approvals.conftest import SignIn
from tests.approvals.test_commands import kinds, stuck
from tests.approvals.test_run_list import in_state

__all__ = ["olga", "told"]

pytestmark = pytest.mark.django_db

CHANGED = ("refused", bulk.MOVED)


def at_gate() -> Run:
    run: Run = factories.gate().effect.run
    return run


def held() -> Run:
    run = at_gate()
    runs.hold(run.ref, actor="desk", reason="to look at it")
    return run


def busy() -> Run:
    return Run.objects.get(pk=factories.running().run_id)


def approved(run: Run) -> None:
    answer(factories.person("alice"), run.effects.get().gates.get())


def edited(run: Run) -> None:
    steering.edit_state(run.ref, {"order": "8821"}, actor="desk", reason="another order")


def taken_over(run: Run) -> None:
    Run.objects.filter(pk=run.pk).update(attempt=run.attempt + 1)


#: An act, a run that it fits, what happens to one of them after the draft, and what the act would have done to it.
CASES: tuple[tuple[str, Callable[[], Run], Callable[[Run], None], str], ...] = (
    ("releases", held, approved, "released"),
    ("retries", stuck, edited, "retried"),
    ("cancellations", at_gate, approved, "cancel asked"),
    ("cancellations", busy, taken_over, "cancel asked"),
    ("undone-cancellations", at_gate, approved, "cancel asked"),
)


@pytest.mark.parametrize(("act", "made_so", "changes", "kind"), CASES)
@pytest.mark.parametrize("started", [False, True], ids=["before the start", "after the start"])
def test_a_run_that_has_changed_since_the_draft_refuses_and_the_others_go_on(
    act: str,
    made_so: Callable[[], Run],
    changes: Callable[[Run], None],
    kind: str,
    started: bool,
    olga: User,
) -> None:
    found = [made_so() for _ in range(3)]
    made = bulk.draft(olga, act, query=None, refs=[run.ref for run in found])
    assert made.radius["fits"] == 3
    if started:
        bulk.start(olga, made.pk, "night shift")
    changes(found[1])
    if not started:
        bulk.start(olga, made.pk, "night shift")
    bulk.carry_on(made.pk)
    assert outcomes(made) == {
        found[0].ref: ("done", ""),
        found[1].ref: CHANGED,
        found[2].ref: ("done", ""),
    }
    assert [kinds(run) for run in found] == [[kind], [], [kind]]


def test_the_steps_of_busy_runs_outrun_no_hold_and_those_that_touch_nothing_no_cancel(olga: User) -> None:
    for act in ("holds", "cancellations"):
        run = busy()
        made = bulk.draft(olga, act, query=None, refs=[run.ref])
        Run.objects.filter(pk=run.pk).update(version=run.version + 7, step="tell")
        bulk.start(olga, made.pk, "night shift")
        bulk.carry_on(made.pk)
        assert outcomes(made) == {run.ref: ("done", "")}


def test_all_that_match_are_those_that_were_counted_and_as_they_stood_then(olga: User) -> None:
    bad, worse = stuck(), stuck()
    made = bulk.draft(olga, "retries", query=parse("status:stuck"))
    later = stuck()
    edited(worse)
    bulk.start(olga, made.pk, "try again")
    bulk.carry_on(made.pk)
    assert outcomes(made) == {bad.ref: ("done", ""), worse.ref: CHANGED}
    assert [kinds(run) for run in (bad, worse, later)] == [["retried"], [], []]


def test_what_changes_while_it_is_counted_has_changed_since(
    olga: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, count = stuck(), bulk_radius.outlooks

    def slow(kind: BulkKind, ids: Sequence[int]) -> dict[int, str]:
        edited(run)
        return count(kind, ids)

    monkeypatch.setattr(bulk_radius, "outlooks", slow)
    made = bulk.draft(olga, "retries", query=None, refs=[run.ref])
    bulk.start(olga, made.pk, "try again")
    bulk.carry_on(made.pk)
    assert outcomes(made) == {run.ref: CHANGED}


def test_its_row_says_so_with_a_link_and_a_new_look_lets_the_act_be_done(olga: User, sign_in: SignIn) -> None:
    run, other, client = stuck(), stuck(), sign_in(olga)
    posted = {"act": "retries", "run": [run.ref, other.ref], "q": ""}
    made = client.post(reverse("bulk-drafts"), posted, follow=True).context["bulk"]
    edited(run)
    page = client.get(reverse("bulk-act", args=[made.pk]))
    shown = {row["run_id"]: row["moved"] for row in page.context["results"]}
    assert shown == {run.ref: True, other.ref: False}
    assert page.content.decode().count("Has changed since this was counted; it will refuse.") == 1

    client.post(reverse("bulk-starts", args=[made.pk]), {"reason": "try again"})
    bulk.carry_on(made.pk)
    body = client.get(reverse("bulk-act", args=[made.pk])).content.decode()
    link = f'{bulk.MOVED}</bdi>. <a href="{reverse("run", args=[run.ref])}">How it stands now</a>'
    assert body.count(link) == 1 and "Done: 1 of 2. 1 refused" in body

    again = client.post(reverse("bulk-drafts"), {"again": made.pk}, follow=True).context["bulk"]
    assert (again.total, again.radius["fits"]) == (1, 1)
    client.post(reverse("bulk-starts", args=[again.pk]), {"reason": "I have seen it"})
    bulk.carry_on(again.pk)
    assert outcomes(again) == {run.ref: ("done", "")} and kinds(run) == ["retried"]


def test_a_draft_looked_at_again_holds_to_how_its_runs_stand_now(olga: User, sign_in: SignIn) -> None:
    run, client = stuck(), sign_in(olga)
    made = bulk.draft(olga, "retries", query=None, refs=[run.ref])
    edited(run)
    page = client.post(reverse("bulk-drafts"), {"again": made.pk}, follow=True)
    again = page.context["bulk"]
    assert again.pk != made.pk and [row["moved"] for row in page.context["results"]] == [False]
    old = client.post(reverse("bulk-starts", args=[made.pk]), {"reason": "old tab"})
    assert old.status_code == 409 and "This draft is gone" in old.content.decode()
    bulk.start(olga, again.pk, "try again")
    bulk.carry_on(again.pk)
    assert outcomes(again) == {run.ref: ("done", "")}


def test_how_many_runs_a_draft_has_costs_it_no_query_more(olga: User) -> None:
    few, many = ([at_gate().ref for _ in range(number)] for number in (2, 12))
    taken = []
    for refs in (few, few, many):  # the first time the person's rights are asked for as well
        BulkAct.objects.all().delete()
        with CaptureQueriesContext(connection) as queries:
            bulk.draft(olga, "cancellations", query=None, refs=refs)
        taken.append(len(queries))
    assert taken[1] == taken[2]


def test_what_was_drafted_before_a_run_could_say_how_it_was_shown_is_not_done_unseen(olga: User) -> None:
    going = bulk.draft(olga, "holds", query=None, refs=[in_state(RunState.QUEUED).ref])
    bulk.start(olga, going.pk, "night shift")
    drafted = bulk.draft(olga, "holds", query=None, refs=[in_state(RunState.QUEUED).ref])

    with connection.cursor() as cursor:
        cursor.execute(import_module("approvals.migrations.0005_bulk_seen").HOLD_BACK)

    assert not BulkAct.objects.filter(pk=drafted.pk).exists()
    bulk.carry_on(going.pk)
    ((outcome, words),) = outcomes(going).values()
    assert outcome == "refused" and "updated before its turn" in words
    assert bulk.again(olga, going.pk).radius["fits"] == 1
