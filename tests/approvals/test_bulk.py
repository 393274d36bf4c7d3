"""Acts on many runs: shown before they are started, done once each, stopped, and refused with a reason."""

from __future__ import annotations

from collections.abc import Iterator
from contextvars import Context
from dataclasses import replace
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client
from django.urls import reverse

from approvals import bulk
from approvals.bulk_acts import kind
from approvals.models import BulkAct, BulkResult
from approvals.run_query import parse
from durable import faults, runs
from durable.errors import Conflict, Invalid
from durable.models import LedgerEvent, Run
from durable.models.fields import Clock
from durable.states import RunState
from tests import factories
from tests.approvals.bulk_acts import olga, outcomes, told
from tests.approvals.conftest import SignIn
from tests.approvals.test_run_list import in_state, stuck

__all__ = ["olga", "told"]

pytestmark = pytest.mark.django_db


class Killed(BaseException):
    """As if the process had been killed here."""


@pytest.fixture(autouse=True)
def nothing_armed() -> Iterator[None]:
    yield
    faults.disarm_all()


def going(person: User, act: str, *found: Run, reason: str = "night shift") -> BulkAct:
    made = bulk.draft(person, act, query=None, refs=[run.ref for run in found])
    return bulk.start(person, made.pk, reason)


def events(*found: Run) -> list[tuple[str, str, str]]:
    refs = [run.ref for run in found]
    return list(
        LedgerEvent.objects.filter(run_ref__in=refs).order_by("id").values_list("run_ref", "kind", "actor")
    )


def test_a_draft_counts_what_would_happen_and_does_nothing(olga: User) -> None:
    one, other = factories.gate().effect.run, factories.gate(amount="200").effect.run
    ended = in_state(RunState.COMPLETED)
    before = events(one, other, ended)
    made = bulk.draft(olga, "undone-cancellations", query=None, refs=[one.ref, other.ref, ended.ref])
    assert (made.radius["fits"], made.radius["rest"]) == (2, [["completed already", 1]])
    assert "2 effects (384.50 EUR) withdrawn, never arrived." in made.radius["lines"]
    assert events(one, other, ended) == before
    bulk.carry_on(made.pk)
    assert {outcome for outcome, _ in outcomes(made).values()} == {"waiting"}


def test_each_run_has_the_persons_event_and_a_result(olga: User) -> None:
    found = [in_state(RunState.QUEUED) for _ in range(3)]
    made = going(olga, "holds", *found)
    bulk.carry_on(made.pk)
    assert {outcome for outcome, _ in outcomes(made).values()} == {"done"}
    assert sorted(events(*found)) == sorted((run.ref, "held", "olga") for run in found)
    made.refresh_from_db()
    assert made.state == "done" and made.ended_at is not None


def test_a_run_that_refuses_has_its_reason_and_the_others_are_done(olga: User) -> None:
    one, other = in_state(RunState.QUEUED), in_state(RunState.QUEUED)
    made = going(olga, "holds", one, other)
    runs.hold(one.ref, actor="alice", reason="first")
    bulk.carry_on(made.pk)
    assert outcomes(made) == {one.ref: ("refused", f"{one.ref} is held already"), other.ref: ("done", "")}
    again = bulk.again(olga, made.pk)
    assert (again.total, again.radius["rest"]) == (1, [["held already", 1]])


def test_a_run_that_cannot_be_acted_on_at_all_does_not_stand_before_the_others(
    olga: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken, other = factories.gate().effect.run, factories.gate().effect.run
    made = going(olga, "holds", other, broken)

    def fails(ref: str, **_: Any) -> None:
        if ref == broken.ref:
            raise ValueError(ref)
        runs.hold(ref, **_)

    wanted = replace(kind("holds"), command=fails)
    monkeypatch.setattr(bulk, "kind", lambda name: wanted)
    bulk.carry_on(made.pk)
    found = outcomes(made)
    assert found[other.ref] == ("done", "")
    assert found[broken.ref][0] == "refused" and "ValueError" in found[broken.ref][1]


def test_what_was_shown_as_not_fitting_is_not_tried_even_if_it_fits_by_now(olga: User) -> None:
    ended, ready = in_state(RunState.COMPLETED), in_state(RunState.QUEUED)
    made = bulk.draft(olga, "holds", query=None, refs=[ended.ref, ready.ref])
    Run.objects.filter(pk=ended.pk).update(state="queued")
    bulk.start(olga, made.pk, "night shift")
    bulk.carry_on(made.pk)
    assert {ref: outcome for ref, (outcome, _) in outcomes(made).items()} == {
        ended.ref: "not tried",
        ready.ref: "done",
    }


@pytest.mark.parametrize("place", ["command.before_commit", "command.after_commit"])
@pytest.mark.parametrize("hit", [2, 3, 4, 5])
def test_a_kill_at_any_commit_loses_no_run_and_repeats_none(place: str, hit: int, olga: User) -> None:
    found = [in_state(RunState.QUEUED) for _ in range(4)]
    made = going(olga, "holds", *found)

    def die() -> None:
        raise Killed

    faults.arm(place, die, hit=hit)
    with pytest.raises(Killed):
        bulk.carry_on(made.pk)
    faults.disarm_all()
    for done in made.results.filter(outcome="done").select_related("run"):
        assert events(done.run) == [(done.run.ref, "held", "olga")]
    BulkAct.objects.filter(pk=made.pk).update(lease_until=None)  # its time is over
    assert bulk.left() == [made.pk]
    bulk.carry_on(made.pk)
    assert {outcome for outcome, _ in outcomes(made).values()} == {"done"}
    assert sorted(events(*found)) == sorted((run.ref, "held", "olga") for run in found)


def test_a_worker_that_is_at_it_has_no_second_beside_it(olga: User) -> None:
    made = going(olga, "holds", in_state(RunState.QUEUED))
    BulkAct.objects.filter(pk=made.pk).update(lease_until=Clock() + bulk.LEASE)
    assert bulk.left() == []
    bulk.carry_on(made.pk)
    assert {outcome for outcome, _ in outcomes(made).values()} == {"waiting"}


def test_who_loses_the_right_midway_acts_on_no_further_run(olga: User) -> None:
    run = in_state(RunState.QUEUED)
    made = going(olga, "holds", run)
    olga.groups.remove(Group.objects.get(name="operator"))
    bulk.carry_on(made.pk)
    assert outcomes(made) == {run.ref: ("refused", "olga does not have the right to steer runs any more")}
    assert events(run) == []


def test_a_stopped_act_reaches_no_further_run(olga: User) -> None:
    found = [in_state(RunState.QUEUED) for _ in range(3)]
    made = going(olga, "holds", *found)
    # From elsewhere, just as the first run's act has been committed.
    faults.arm("command.after_commit", lambda: Context().run(bulk.stop, olga, made.pk), hit=2)
    bulk.carry_on(made.pk)
    results = sorted(outcome for outcome, _ in outcomes(made).values())
    assert results.count("not tried") == 3 - len(events(*found)) > 0
    assert BulkAct.objects.get(pk=made.pk).stopped_by == "olga"


def test_an_act_on_all_that_match_reaches_what_matched_when_it_was_drafted(olga: User) -> None:
    bad = stuck()
    made = bulk.draft(olga, "retries", query=parse("status:stuck"))
    stuck()
    bulk.start(olga, made.pk, "try again")
    bulk.carry_on(made.pk)
    assert outcomes(made) == {bad.ref: ("done", "")}


def test_an_act_needs_runs_a_known_name_a_reason_and_one_start(olga: User) -> None:
    run = in_state(RunState.QUEUED)
    for act, query, refs in (
        ("holds", None, []),
        ("holds", parse("status:x"), []),
        ("erase", None, [run.ref]),
    ):
        with pytest.raises(Invalid):
            bulk.draft(olga, act, query=query, refs=refs)
    made = bulk.draft(olga, "holds", query=None, refs=[run.ref])
    with pytest.raises(Invalid):
        bulk.start(olga, made.pk, " ")
    bulk.start(olga, made.pk, "night shift")
    with pytest.raises(Conflict):
        bulk.start(olga, made.pk, "night shift")


def test_more_runs_than_anybody_looks_at_are_refused(olga: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk, "MOST", 2)
    for _ in range(3):
        in_state(RunState.QUEUED)
    with pytest.raises(Invalid, match="finds more than 2 runs; narrow it"):
        bulk.draft(olga, "holds", query=parse("status:queued"))


def test_a_draft_is_seen_by_its_person_alone_and_replaced_by_the_next(olga: User, sign_in: SignIn) -> None:
    run = in_state(RunState.QUEUED)
    first = bulk.draft(olga, "holds", query=None, refs=[run.ref])
    alice = sign_in(factories.person("alice"))
    assert alice.get(reverse("bulk-act", args=[first.pk])).status_code == 404
    bulk.draft(olga, "holds", query=None, refs=[run.ref])
    assert not BulkAct.objects.filter(pk=first.pk).exists()


def test_from_the_list_to_the_result_through_the_pages(olga: User, sign_in: SignIn, told: list[int]) -> None:
    run, ended = in_state(RunState.QUEUED), in_state(RunState.COMPLETED)
    client: Client = sign_in(olga)
    posted: dict[str, Any] = {"act": "holds", "run": [run.ref, ended.ref], "q": ""}
    page = client.post(reverse("bulk-drafts"), posted, follow=True)
    assert (
        "nothing is done yet" in page.content.decode()
        and "completed already</bdi>; left alone" in page.content.decode()
    )
    pk = page.context["bulk"].pk
    assert client.post(reverse("bulk-starts", args=[pk]), {"reason": ""}).status_code == 422
    page = client.post(reverse("bulk-starts", args=[pk]), {"reason": "night shift"}, follow=True)
    poll = {"seen": page.context["version"]}
    htmx = {"HX-Request": "true"}
    assert client.get(reverse("bulk-act", args=[pk]), poll, headers=htmx).status_code == 204
    bulk.carry_on(pk)
    answer = client.get(reverse("bulk-act", args=[pk]), poll, headers=htmx)
    assert answer.status_code == 286 and "Done: all 1." in answer.content.decode()
    assert client.post(reverse("bulk-stops", args=[pk])).status_code == 409
    assert run.ref in client.get(reverse("bulk-act", args=[pk]), {"outcome": "done"}).content.decode()
    assert "night shift" in client.get(reverse("bulk-acts")).content.decode()


def test_nothing_chosen_leads_back_to_the_list_with_a_sentence(olga: User, sign_in: SignIn) -> None:
    client = sign_in(olga)
    page = client.post(reverse("bulk-drafts"), {"act": "holds", "q": "status:queued"})
    assert page.status_code == 422 and "choose at least one run" in page.content.decode()
    assert page.context["q"] == "status:queued"
    assert not BulkResult.objects.exists()
