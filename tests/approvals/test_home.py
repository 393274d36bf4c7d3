"""What the first page shows: whatever needs a person, each with the way to it; and what has happened lately."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.test import Client
from django.urls import reverse

from approvals import access
from approvals.models import Gate
from approvals.queries import behind
from durable import waits
from durable.models import Effect, Run
from durable.models.fields import Clock
from durable.states import Attention
from durable.transitions import lock_run
from tests import factories
from tests.approvals.answering import edited
from tests.approvals.conftest import SignIn
from tests.approvals.listing import listed
from tests.approvals.world import world

pytestmark = pytest.mark.django_db


def stuck(why: Attention = Attention.RETRIES, effect: Effect | None = None) -> Run:
    claim = factories.running()
    with transaction.atomic():
        waits.open_attention(lock_run(claim.run_ref), why, "It failed three times.", effect=effect)
    return factories.suspend(claim)


def in_doubt() -> Run:
    claim = factories.running()
    effect = factories.propose(claim, order="8812", amount="23.40", currency="EUR")
    with transaction.atomic():
        run = lock_run(claim.run_ref)
        waits.open_attention(run, Attention.IN_DOUBT, "Two candidates.", effect=effect)
    Effect.objects.filter(pk=effect.pk).update(state="in doubt")
    return factories.suspend(claim)


def figures(client: Client) -> dict[str, dict[str, Any]]:
    return {figure["label"]: figure for figure in client.get(reverse("home")).context["figures"]}


def test_a_stuck_run_stands_on_the_first_page_with_why_and_since_when(sign_in: SignIn) -> None:
    run, gate = stuck(), factories.gate()
    page = sign_in(factories.person("olga")).get(reverse("home"))
    (row,) = page.context["stuck"]
    assert (row["run_id"], row["state"], row["since"]) == (run.ref, "retries spent", run.changed_at)
    assert "It failed three times." in row["why"]
    assert [waiting["gate_id"] for waiting in page.context["expiring"]] == [gate.pk]
    assert reverse("run", args=[run.ref]) in page.content.decode()


def test_each_number_of_the_first_page_opens_exactly_the_list_that_it_counted(sign_in: SignIn) -> None:
    stuck(), stuck(), in_doubt(), factories.running(), factories.gate()
    soon = factories.gate()
    Gate.objects.filter(pk=soon.pk).update(decide_by=Clock() + timedelta(milliseconds=1))
    olga = sign_in(factories.person("olga"))
    shown = figures(olga)
    assert {label: figure["value"] for label, figure in shown.items()} == {
        "In flight": "1", "Waiting for people": "2", "Stuck": "3", "In doubt": "1", "Expiring today": "1",
    }  # fmt: skip
    for label, figure in shown.items():
        assert listed(olga, figure["href"]) == int(figure["value"]), label
        for note in figure["notes"]:
            number = re.match(r"\d+", note["words"])
            if note["href"] and number:
                assert listed(olga, note["href"]) == int(number[0]), note


def test_a_gate_that_nobody_is_left_to_decide_stands_on_the_first_page_as_soon_as_it_is_so(
    sign_in: SignIn,
) -> None:
    alice, bob, olga = factories.person("alice"), factories.person("bob"), factories.person("olga")
    gates = [factories.gate("ALICE@example.com"), edited(factories.gate("bob"), alice), factories.gate()]

    def told() -> set[int]:
        notes = figures(sign_in(olga))["Waiting for people"]["notes"]
        counted = [note for note in notes if "for nobody" in note["words"]]
        found = {
            row["gate_id"] for note in counted for row in sign_in(olga).get(note["href"]).context["rows"]
        }
        assert [note["words"] for note in counted] == ([f"{len(found)} for nobody"] if found else [])
        return found

    assert told() == {gates[1].pk}
    User.objects.filter(pk=bob.pk).update(is_active=False)
    assert told() == {gates[0].pk, gates[1].pk}
    alice.groups.clear()
    assert told() == {gate.pk for gate in gates}
    for gate in gates:
        assert access.eligible(Gate.objects.select_related("effect__run").get(pk=gate.pk)) == []


def test_stuck_is_one_number_in_the_menu_on_the_first_page_and_in_both_lists(sign_in: SignIn) -> None:
    doubtful, crashing = in_doubt(), stuck(Attention.CRASH_LOOP)
    olga = sign_in(factories.person("olga"))
    page = olga.get(reverse("home"))
    badge = re.search(r'id="count-stuck"[^>]*>([^<]*)<', page.content.decode())
    tile = figures(olga)["Stuck"]
    assert badge is not None
    assert (badge[1], tile["value"], page.context["stuck_total"]) == ("2", "2", "2")
    assert page.context["summary"].startswith("2 runs need an operator")
    assert {row["id"] for row in olga.get(tile["href"]).context["rows"]} == {doubtful.ref, crashing.ref}
    assert listed(olga, f"{reverse('runs')}?q=status:stuck") == 2
    assert [note["words"] for note in tile["notes"]] == ["1 of them in doubt"]
    assert [row["id"] for row in olga.get(tile["notes"][0]["href"]).context["runs"]] == [doubtful.ref]


def test_what_nobody_takes_up_is_counted_on_the_first_page_and_stands_in_the_list_behind_the_number(
    sign_in: SignIn,
) -> None:
    olga = sign_in(factories.person("olga"))
    assert [line["words"] for line in olga.get("/").context["health"]] == [
        "Database answers", "Workers take up what is due",
    ]  # fmt: skip
    late, asleep = (Run.objects.get(pk=factories.running().run_id) for _ in range(2))
    due = Clock() - timedelta(minutes=2)
    Run.objects.filter(pk=late.pk).update(state="queued", due_at=due, lease_until=None)
    Run.objects.filter(pk=asleep.pk).update(state="suspended", due_at=None, lease_until=None)
    page = olga.get("/")
    told = {line["words"]: line["href"] for line in page.context["health"] if not line["ok"]}
    assert [*told] == [
        "1 due for over a minute and not taken: is a worker up?", "1 suspended without an open wait",
    ]  # fmt: skip
    behind = [[row["id"] for row in olga.get(href).context["rows"]] for href in told.values()]
    assert behind == [[late.ref], [asleep.ref]]
    assert all(f'<a href="{href}">{words}</a>' in page.content.decode() for words, href in told.items())


def test_what_is_in_doubt_is_settled_from_the_first_page(sign_in: SignIn) -> None:
    run = in_doubt()
    page = sign_in(factories.person("olga")).get(reverse("home"))
    shown = {figure["label"]: figure for figure in page.context["figures"]}
    assert (shown["Stuck"]["value"], shown["In doubt"]["value"]) == ("1", "1")
    assert shown["In doubt"]["notes"][0]["words"] == "23.40 EUR kept for them"
    assert [(row["run_id"], row["act"]) for row in page.context["stuck"]] == [(run.ref, "Settle")]


def test_a_button_says_the_act_to_who_may_do_it_and_promises_nothing_to_who_only_reads(
    sign_in: SignIn,
) -> None:
    stuck()
    acts = {
        who: sign_in(factories.person(who)).get("/").context["stuck"][0]["act"]
        for who in ("olga", "rita", "ada")
    }
    assert acts == {"olga": "Retry", "rita": "Read why", "ada": "Read why"}


def test_a_reviewer_comes_home_to_what_waits_and_to_what_became_of_the_last_answers(sign_in: SignIn) -> None:
    late, soon, done = factories.gate(), factories.gate(), factories.gate()
    Gate.objects.filter(pk=soon.pk).update(decide_by=late.decide_by - timedelta(hours=5))
    alice = factories.person("alice")
    client = sign_in(alice)
    answer = {"verdict": "approve", "digest": done.digest, "round": 1}
    assert client.post(reverse("decisions", args=[done.pk]), answer).status_code == 303
    page = client.get(reverse("home"))
    assert [gate["gate_id"] for gate in page.context["waiting"]] == [soon.pk, late.pk]
    assert [(one["gate_id"], one["verdict"]) for one in page.context["mine"]] == [(done.pk, "You approved")]
    assert next(iter(page.context["figures"]))["label"] == "Waiting for you"


def test_an_unknown_list_is_not_there_and_an_unknown_period_is_a_day(sign_in: SignIn) -> None:
    olga = sign_in(factories.person("olga"))
    assert olga.get(reverse("behind", args=["everything"])).status_code == 404
    for nonsense in ("x", "-1", "\x00"):
        assert olga.get(reverse("home"), {"period": nonsense}).context["period"].name == "24h"
        assert olga.get(reverse("behind", args=["moved"]), {"currency": nonsense}).status_code == 200


@pytest.mark.parametrize("who", [*factories.ROLES, "nobody"])
@pytest.mark.parametrize("name", behind.LISTS)
def test_every_list_behind_a_number_by_every_role(name: str, who: str, sign_in: SignIn) -> None:
    factories.gate()
    client = Client() if who == "nobody" else sign_in(factories.person(who))
    before = world()
    status = client.get(reverse("behind", args=[name])).status_code
    assert (status, world() == before) == ({"nobody": 302, "charlie": 403}.get(who, 200), True)


@pytest.mark.parametrize(
    ("who", "sees"),
    [
        ("alice", "Waits for you"),
        ("charlie", ""),
        ("olga", "Needs an operator"),
        ("rita", "Needs an operator"),
        ("ada", "Needs an operator"),
    ],
)
def test_everybody_lands_where_their_work_is(who: str, sees: str, sign_in: SignIn) -> None:
    answer = sign_in(factories.person(who)).get("/")
    assert answer.status_code == (200 if sees else 403)
    assert sees in answer.content.decode()
