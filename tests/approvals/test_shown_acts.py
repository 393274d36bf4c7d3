"""No act runs something other than what was shown: what changes between the page and the click makes it void."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from approvals.decisions import Answer, Circumstances, decide
from approvals.states import Verdict
from durable import runs, standing, steering
from durable.errors import Conflict
from durable.models import LedgerEvent, Run
from durable.transitions import lock_run
from tests import factories
from tests.approvals.conftest import SignIn
from tests.approvals.test_commands import acts, stuck
from tests.together import at_once

pytestmark = pytest.mark.django_db

HERE = Circumstances(ip="", browser="", authenticated="session")


def held_at_gate() -> Run:
    run: Run = factories.gate().effect.run
    runs.hold(run.ref, actor="desk", reason="to look at it")
    return Run.objects.get(pk=run.pk)


def told(run: Run) -> list[str]:
    return list(LedgerEvent.objects.filter(run_ref=run.ref).order_by("no").values_list("kind", flat=True))


def click(client: Client, run: Run, act: dict[str, Any], **more: Any) -> Any:
    return client.post(act["url"], {**act["hidden"], "reason": "because", **more})


def chosen(client: Client, run: Run, noun: str) -> dict[str, Any]:
    return next(act for act in acts(client, run) if act["id"] == noun)


def test_a_release_of_a_run_whose_gate_was_approved_meanwhile_sends_nothing_and_shows_what_it_would_send(
    sign_in: SignIn,
) -> None:
    gate = factories.gate()
    run = gate.effect.run
    runs.hold(run.ref, actor="desk", reason="to look at it")
    olga = sign_in(factories.person("olga"))
    act = chosen(olga, run, "releases")
    assert act["preview"][0] == "Still waits for people: Pay out 184.50 EUR (pay)."

    decide(factories.person("alice"), gate.pk, Answer(Verdict.APPROVE, gate.digest, 1), HERE)
    before = told(run)
    answer = click(olga, run, act)

    assert answer.status_code == 409 and "has moved on since your page was made" in answer.context["problem"]
    again = answer.context["again"]
    assert again["preview"][0] == "Sent next, approved: Pay out 184.50 EUR (pay)."
    assert again["said"] == "because" and "because</textarea>" in answer.content.decode()
    run.refresh_from_db()
    assert run.held and told(run) == before
    assert click(olga, run, again).status_code == 303
    run.refresh_from_db()
    assert not run.held


def edits(run: Run) -> None:
    steering.edit_state(run.ref, {"order": "8821"}, actor="desk", reason="another order")


def skips(run: Run) -> None:
    steering.skip(run.ref, actor="desk", reason="not needed", to="tell")


CHANGES: tuple[tuple[str, Callable[[Run], None]], ...] = (
    ("retries", edits),
    ("skips", edits),
    ("state", edits),
    ("retries", skips),
)


@pytest.mark.parametrize(("noun", "change"), CHANGES)
def test_an_act_upon_what_has_changed_since_its_page_was_made_is_refused(
    noun: str, change: Callable[[Run], None], sign_in: SignIn
) -> None:
    run = stuck()
    olga = sign_in(factories.person("olga"))
    act = chosen(olga, run, noun)
    change(run)
    before = told(run)
    answer = click(olga, run, act, state='{"mine": true}')
    assert answer.status_code == 409, noun
    assert told(run) == before


@pytest.mark.parametrize("seen", [None, "", "0" * 24, "x"])
def test_an_act_that_does_not_say_what_was_shown_is_refused(seen: str | None, sign_in: SignIn) -> None:
    run = stuck()
    olga = sign_in(factories.person("olga"))
    given = {} if seen is None else {"seen": seen}
    answer = olga.post(reverse("retries", args=[run.ref]), {"reason": "because", **given})
    assert answer.status_code == (409 if seen == "0" * 24 else 422)
    run.refresh_from_db()
    assert run.state == "suspended"


def test_a_hold_is_not_outrun_by_the_steps_of_a_busy_run_and_a_cancel_only_by_what_they_do(
    sign_in: SignIn,
) -> None:
    run = Run.objects.get(pk=factories.running().run_id)
    olga = sign_in(factories.person("olga"))
    hold, cancel = chosen(olga, run, "holds"), chosen(olga, run, "cancellations")
    Run.objects.filter(pk=run.pk).update(version=run.version + 7, step="tell")
    assert click(olga, run, hold).status_code == 303
    assert click(olga, run, cancel).status_code == 409


def test_a_cancel_counts_on_what_was_done_and_not_on_steps_that_touch_nothing(sign_in: SignIn) -> None:
    claim = factories.running()
    run = Run.objects.get(pk=claim.run_id)
    olga = sign_in(factories.person("olga"))
    cancel = chosen(olga, run, "cancellations")
    factories.propose(claim, order="1", amount="5", currency="EUR")
    assert click(olga, run, cancel).status_code == 409
    cancel = chosen(olga, run, "cancellations")
    Run.objects.filter(pk=run.pk).update(version=run.version + 7)
    assert click(olga, run, cancel).status_code == 303


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("trial", range(3))
def test_of_two_acts_at_once_upon_one_page_the_second_finds_the_run_moved_on(trial: int) -> None:
    run = stuck()
    seen = standing.of(run).whole
    edit = partial(steering.edit_state, run.ref, {"order": "1"}, actor="olga", reason="so", seen=seen)
    retry = partial(steering.retry, run.ref, actor="sven", reason="so", seen=seen)
    won = [one for one in at_once(edit, retry, loses=Conflict) if one is None]
    done = [kind for kind in told(run) if kind in ("state edited", "retried")]
    assert len(won) == len(done) == 1


def test_every_effect_and_every_entry_of_the_ledger_gives_a_run_another_standing() -> None:
    claim = factories.running()
    run = Run.objects.get(pk=claim.run_id)
    names = {standing.of(run).whole}
    effect = factories.propose(claim, order="1", amount="5", currency="EUR")
    names.add(standing.of(run).whole)
    type(effect).objects.filter(pk=effect.pk).update(state="withdrawn")
    names.add(standing.of(run).whole)
    with transaction.atomic():
        lock_run(run.ref)
        assert standing.of(run).whole in names
    assert len(names) == 3


def test_a_poll_of_a_run_that_stands_still_costs_three_queries_and_a_stranger_sees_nothing(
    sign_in: SignIn,
) -> None:
    run = held_at_gate()
    olga = sign_in(factories.person("olga"))
    path = reverse("run", args=[run.ref])
    seen = olga.get(path).context["run"]["version"]
    with CaptureQueriesContext(connection) as queries:
        answer = olga.get(path, {"seen": seen}, headers={"HX-Request": "true"})
    assert (answer.status_code, len(queries)) == (204, 3)
    stranger = sign_in(factories.person("charlie"))
    assert stranger.get(path, {"seen": seen}, headers={"HX-Request": "true"}).status_code == 403
    runs.release(run.ref, actor="desk", reason="looked at it")
    assert olga.get(path, {"seen": seen}, headers={"HX-Request": "true"}).status_code == 200
