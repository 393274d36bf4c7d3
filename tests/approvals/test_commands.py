"""An operator's commands, through the page: what is offered, what is done, and what is refused in words."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.test import Client
from django.urls import reverse

from approvals import bulk_radius
from approvals.bulk_acts import kind
from durable import plan, runs, waits
from durable.models import Effect, LedgerEvent, Run
from durable.states import Attention, RunState
from durable.transitions import lock_run, move_run
from tests import factories
from tests.approvals.conftest import SignIn

pytestmark = pytest.mark.django_db


class Walker(plan.Agent):
    """Two steps, of which a test drives none."""

    name = "walker"

    @plan.step
    def look(self, run: Any) -> Any:
        return self.tell

    @plan.step
    def tell(self, run: Any) -> None: ...


def stuck() -> Run:
    run = runs.start("walker", {"order": "8812"}, actor="desk")
    with transaction.atomic():
        locked = lock_run(run.ref)
        Run.objects.filter(pk=run.pk).update(step="look")
        move_run(locked, RunState.SUSPENDED)
        waits.open_attention(lock_run(run.ref), Attention.RETRIES, "It failed three times.")
    return Run.objects.get(pk=run.pk)


def offered(sign_in: SignIn, who: str, run: Run) -> set[str]:
    page = sign_in(factories.person(who)).get(reverse("run", args=[run.ref]))
    return {act["id"] for act in page.context["acts"]}


def kinds(run: Run) -> list[str]:
    return list(
        LedgerEvent.objects.filter(run_ref=run.ref, actor="olga")
        .order_by("no")
        .values_list("kind", flat=True)
    )


def with_effect(run: Run, **now: Any) -> Effect:
    """An effect of the run, which stands so."""
    made = factories.propose(factories.running(), order="1", amount="5", currency="EUR")
    Effect.objects.filter(pk=made.pk).update(run=run, **now)
    return Effect.objects.get(pk=made.pk)


def test_an_alarm_about_a_settled_effect_takes_no_act_from_a_run_at_rest(sign_in: SignIn) -> None:
    run, olga = stuck(), sign_in(factories.person("olga"))
    done = with_effect(run, state="applied", receipt_id="po_1", applied_no=3)
    before = {act["id"] for act in acts(olga, run)}
    with transaction.atomic():
        alarm = {"alarm": True}
        waits.open_attention(lock_run(run.ref), Attention.CONFLICT, "late", effect=done, evidence=alarm)
    assert {"skips", "state", "retries"} <= before == {act["id"] for act in acts(olga, run)}
    for name in ("retries", "holds"):
        assert bulk_radius.outlooks(kind(name), [run.pk]) == {run.pk: ""}
    skip = next(act for act in acts(olga, run) if act["id"] == "skips")
    assert olga.post(skip["url"], {**skip["hidden"], "reason": "seen"}).status_code == 303


def test_an_effect_that_the_vendor_may_have_takes_skip_and_edit_from_a_run_at_rest(sign_in: SignIn) -> None:
    run, olga = stuck(), sign_in(factories.person("olga"))
    with_effect(run, state="pending", sends=1, open_sends=1)
    assert not {"skips", "state"} & {act["id"] for act in acts(olga, run)}


def test_a_stuck_run_offers_what_fits_to_operators_alone(sign_in: SignIn) -> None:
    run = stuck()
    assert offered(sign_in, "olga", run) == {"holds", "retries", "skips", "state", "cancellations"}
    assert offered(sign_in, "alice", run) == offered(sign_in, "rita", run) == set()


def test_a_run_on_its_way_offers_only_to_stop_it(sign_in: SignIn) -> None:
    assert offered(sign_in, "olga", runs.start("walker", {}, actor="desk")) == {"holds", "cancellations"}


def test_what_is_in_doubt_offers_no_retry_and_no_skip(sign_in: SignIn) -> None:
    claim = factories.running()
    effect = factories.propose(claim, order="1", amount="5", currency="EUR")
    with transaction.atomic():
        waits.open_attention(
            lock_run(claim.run_ref), Attention.IN_DOUBT, "It may have landed.", effect=effect
        )
    run = factories.suspend(claim)
    assert offered(sign_in, "olga", run) == {"holds", "cancellations"}


def post(sign_in: SignIn, noun: str, run: Run, **more: Any) -> Any:
    """Post an act's own form, as the page gives it out."""
    olga = sign_in(factories.person("olga"))
    (act,) = (one for one in acts(olga, run) if one["id"] == noun)
    return olga.post(reverse(noun, args=[run.ref]), {"reason": "because", **act["hidden"], **more})


def acts(client: Client, run: Run) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = client.get(reverse("run", args=[run.ref])).context["acts"]
    return found


def test_a_retry_queues_the_step_again(sign_in: SignIn) -> None:
    run = stuck()
    assert post(sign_in, "retries", run).status_code == 303
    run.refresh_from_db()
    assert (run.state, run.step, kinds(run)) == ("queued", "look", ["retried"])


def test_a_skip_goes_on_at_the_next_step(sign_in: SignIn) -> None:
    run = stuck()
    assert post(sign_in, "skips", run).status_code == 303
    run.refresh_from_db()
    assert (run.state, run.step, kinds(run)) == ("queued", "tell", ["skipped"])


def test_a_skip_to_a_step_that_is_not_there_changes_nothing(sign_in: SignIn) -> None:
    run = stuck()
    answer = post(sign_in, "skips", run, to="nowhere")
    assert answer.status_code == 422 and "no step 'nowhere'" in answer.context["problem"]
    assert kinds(run) == []


def test_the_state_can_be_edited_and_the_form_begins_with_the_present_one(sign_in: SignIn) -> None:
    run = stuck()
    assert post(sign_in, "state", run, state='{"order": "8821"}').status_code == 303
    assert kinds(run) == ["state edited"]
    page = sign_in(User.objects.get(username="olga")).get(reverse("run", args=[run.ref]))
    (edit,) = (act for act in page.context["acts"] if act["id"] == "state")
    assert edit["fields"][0].value() == '{\n  "order": "8821"\n}'


@pytest.mark.parametrize("bad", ["", "{", "[1]", '{"a": "\\u0000"}'])
def test_a_bad_state_changes_nothing(bad: str, sign_in: SignIn) -> None:
    run = stuck()
    assert post(sign_in, "state", run, state=bad).status_code == 422
    assert kinds(run) == []


def test_a_fork_leads_to_the_new_run(sign_in: SignIn) -> None:
    run = stuck()
    runs.hold(run.ref, actor="desk", reason="to look at it")
    answer = post(sign_in, "forks", run, version=1)
    forked = Run.objects.get(parent=run)
    assert (answer.status_code, answer["Location"]) == (303, reverse("run", args=[forked.ref]))
    assert forked.requester == "olga"


def test_a_fork_of_what_is_not_kept_is_refused_in_words(sign_in: SignIn) -> None:
    run = stuck()
    runs.hold(run.ref, actor="desk", reason="to look at it")
    answer = post(sign_in, "forks", run, version=99)
    assert answer.status_code == 409 and "keeps no checkpoint 99" in answer.context["problem"]
    assert not Run.objects.filter(parent=run).exists()


def test_cancelling_withdraws_nothing_by_itself_but_stops_the_run(sign_in: SignIn) -> None:
    gate = factories.gate()
    assert post(sign_in, "cancellations", gate.effect.run, undo="on").status_code == 303
    run = Run.objects.get(pk=gate.effect.run_id)
    assert (run.state, run.undo_after) == ("cancelling", True)
    assert Effect.objects.get(pk=gate.effect_id).state == "gated"


def test_the_first_button_of_a_stuck_run_resumes_it_and_holding_it_comes_after(sign_in: SignIn) -> None:
    found = acts(sign_in(factories.person("olga")), stuck())
    assert [(one["label"], one["kind"]) for one in found[:2]] == [
        ("Resume: retry look", "main"),
        ("Skip the step", ""),
    ]
    assert [one["id"] for one in found].index("holds") > 2
    assert [one["kind"] for one in found].count("main") == 1
