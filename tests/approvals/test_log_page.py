"""The page of the log: what it shows, to whom, found how; and that each object's page leads to it."""

from __future__ import annotations

import re
from datetime import timedelta
from html import unescape
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from approvals import bulk
from approvals.capabilities import Capability
from approvals.log_query import parse
from approvals.models import Gate
from approvals.queries import act_list
from approvals.states import Verdict
from durable import acts, runs, stops, vault
from durable.models import LedgerEvent, Run
from durable.states import ActKind
from tests import factories
from tests.approvals.answering import answer
from tests.approvals.conftest import SignIn, fewest
from tests.approvals.test_gate_cases import words_of
from tests.approvals.test_query_bounds import MOST

pytestmark = pytest.mark.django_db
READERS = {"rita", "ada"}


@pytest.fixture
def rita(sign_in: SignIn) -> Client:
    """An auditor who has been there before: her own sign-in is in the log."""
    return sign_in(factories.person("rita"))


def listed(client: Client, query: str = "", **more: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = client.get(reverse("acts"), {"q": query, **more}).context["acts"]
    return rows


def kinds(client: Client, query: str) -> list[str]:
    return [row["kind"] for row in listed(client, query)]


def decided() -> Gate:
    """A gate that alice rejected."""
    gate = factories.gate()
    answer(factories.person("alice"), gate, Verdict.REJECT, words="no receipt was sent")
    return gate


@pytest.mark.parametrize("who", [*factories.ROLES, "nobody"])
def test_auditors_and_admins_read_the_log_and_nobody_else_does(who: str, sign_in: SignIn) -> None:
    client = Client() if who == "nobody" else sign_in(factories.person(who))
    status = client.get(reverse("acts")).status_code
    assert status == (302 if who == "nobody" else 200 if who in READERS else 403)
    assert client.post(reverse("acts")).status_code == 405
    if who in READERS:
        labels = [item["label"] for group in client.get("/").context["nav"] for item in group["items"]]
        assert "Log" in labels


def test_acts_of_all_sorts_stand_in_one_list_the_newest_first(rita: Client) -> None:
    gate = decided()
    order = stops.order("tool", "pay_out", actor="olga", reason="it pays twice")
    with acts.acting("ada", "she moves desks"):
        User.objects.get(username="alice").groups.set([Group.objects.get(name="operator")])
    rows = listed(rita)
    assert [row["kind"] for row in rows[:4]] == ["roles changed", "roles changed", "stop ordered", "rejected"]
    given, _, ordered, rejected = rows[:4]
    assert (given["who"], given["said"]) == ("ada", "she moves desks")
    assert given["changes"] == [{"name": "roles", "went": "", "came": "operator"}]
    assert (ordered["said"], ordered["objects"][0].label) == ("it pays twice", f"stop {order.pk}")
    assert (rejected["who"], rejected["said"]) == ("Alice", "no receipt was sent")
    assert rejected["changes"] == [{"name": "state", "was": "gated", "now": "rejected"}]
    assert rejected["objects"][0].url == reverse("effect", args=[gate.effect.key])
    assert [row["at"] for row in rows] == sorted((row["at"] for row in rows), reverse=True)


def test_each_filter_finds_what_it_says_and_all_together(rita: Client) -> None:
    gate = decided()
    runs.cancel(gate.effect.run.ref, actor="olga", reason="not wanted")
    assert set(kinds(rita, "actor:alice")) == {"rejected"}
    assert kinds(rita, "kind:rejected,cancel-asked") == ["cancel asked", "rejected"]
    assert kinds(rita, "kind:rejected actor:olga") == []
    assert "expired" not in kinds(rita, "") and kinds(rita, "only:machines") == []
    assert set(kinds(rita, "only:people")) >= {"signed in", "rejected", "person added"}
    assert kinds(rita, f"about:{gate.effect.run.ref}") == ["cancel asked", "rejected"]
    assert kinds(rita, f"about:{gate.effect.key} actor:alice only:people") == ["rejected"]


@pytest.mark.parametrize("about", ["run", "key", "gate"])
def test_what_was_refused_on_an_object_stands_with_what_was_done_to_it(
    about: str, rita: Client, sign_in: SignIn
) -> None:
    gate, other = decided(), factories.gate()
    charlie = sign_in(factories.person("charlie"))
    for one in (gate, other):
        charlie.post(reverse("decisions", args=[one.pk]))
    name = {"run": gate.effect.run.ref, "key": gate.effect.key, "gate": f"gate:{gate.pk}"}[about]
    assert kinds(rita, f"about:{name}") == ["refused", "rejected"]
    assert kinds(rita, f"about:{name} only:refused") == ["refused"]


def test_a_person_is_found_by_name_and_by_number_and_a_role_too(rita: Client) -> None:
    bob = factories.person("bob")
    found = kinds(rita, "about:person:bob")
    assert found == ["roles changed", "person added"] == kinds(rita, f"about:person:{bob.pk}")
    number = bob.pk
    bob.delete()
    last = listed(rita, f"about:person:{number}")[0]
    assert (last["kind"], last["objects"][0].label) == ("person removed", "bob")
    with acts.acting("ada"):
        Group.objects.get(name="operator").permissions.clear()
    (role,) = listed(rita, "about:role:operator")
    assert (role["kind"], role["objects"][0].label) == ("rights changed", "role operator")
    assert "approvals.steer_runs" in role["changes"][0]["went"]


def test_the_ends_of_a_time_belong_to_it(rita: Client) -> None:
    decided()
    at = LedgerEvent.objects.get(kind="rejected").at
    minute, day = f"{at:%Y-%m-%dT%H:%M}", f"{at:%Y-%m-%d}"
    assert kinds(rita, f"kind:rejected from:{minute} to:{minute}") == ["rejected"]
    assert kinds(rita, f"kind:rejected from:{day} to:{day}") == ["rejected"]
    later = at + timedelta(minutes=1)
    assert kinds(rita, f"kind:rejected from:{later:%Y-%m-%dT%H:%M}") == []
    before = at - timedelta(minutes=1)
    assert kinds(rita, f"kind:rejected to:{before:%Y-%m-%dT%H:%M}") == []


def test_what_cannot_be_understood_finds_nothing_and_says_why(rita: Client) -> None:
    page = rita.get(reverse("acts"), {"q": "kind:shipped"})
    assert page.status_code == 200 and page.context["acts"] == []
    assert "there is no “shipped”" in words_of(page.content.decode())


@pytest.mark.parametrize("nonsense", ["x", "-1", "9" * 30, "1.x", "9" * 18 + "." + "9" * 18, "\x00", "."])
def test_nonsense_in_the_address_shows_a_page_and_no_error(nonsense: str, rita: Client) -> None:
    for field in ("after", "before", "q", "seen", "newest"):
        assert rita.get(reverse("acts"), {field: nonsense}).status_code == 200, field
        answer = rita.get(reverse("acts"), {field: nonsense}, headers={"HX-Request": "true"})
        assert answer.status_code in (200, 204), field


def test_a_hundred_and_twenty_acts_of_one_transaction_are_each_shown_once_while_more_arrive(
    rita: Client,
) -> None:
    with transaction.atomic():
        for n in range(120):
            acts.record(ActKind.STOP_ORDERED, actor="olga", about=f"stop:{n}")
    seen: list[str] = []
    query: dict[str, str] = {"q": "kind:stop-ordered"}
    while True:
        context = rita.get(reverse("acts"), query).context
        seen += [row["objects"][0].label for row in context["acts"]]
        if not context["page"]["older"]:
            break
        query["after"] = context["page"]["older"]
        with transaction.atomic():
            for n in range(15):
                acts.record(ActKind.STOP_ORDERED, actor="olga", about=f"stop:new{len(seen)}{n}")
    assert seen == [f"stop {n}" for n in range(119, -1, -1)]
    query = {"q": "kind:stop-ordered", "before": context["page"]["newer"]}
    back = rita.get(reverse("acts"), query).context["acts"]
    assert [row["objects"][0].label for row in back] == [f"stop {n}" for n in range(69, 19, -1)]


def test_it_takes_as_many_queries_for_many_acts_as_for_few_and_fifteen_at_most(
    rita: Client, sign_in: SignIn
) -> None:
    counted = []
    for _ in range(2):
        for _ in range(12):
            gate = factories.gate()
            answer(User.objects.filter(username="alice").first() or factories.person("alice"), gate, Verdict.REJECT,
                   words="no")  # fmt: skip
            stops.lift(stops.order("all", actor="olga", reason="x").pk, actor="olga", reason="y")
        sign_in(User.objects.get(username="alice")).post(reverse("holds", args=[gate.effect.run.ref]))
        for query in ("", "only:refused", f"about:{gate.effect.run.ref}"):
            with CaptureQueriesContext(connection) as asked:
                assert rita.get(reverse("acts"), {"q": query}).status_code == 200
            counted.append(len(asked))
    assert counted[:3] == counted[3:]
    assert max(counted) <= MOST


def test_words_that_nobody_can_read_any_more_are_said_to_be(rita: Client) -> None:
    gate = decided()
    alice = User.objects.get(username="alice")
    with acts.acting("ada", "she is ill"):
        User.objects.filter(pk=alice.pk).update(is_active=False)
    vault.destroy(Run.objects.get(pk=gate.effect.run_id))
    vault.forget(acts.person(alice.pk))
    said = {row["kind"]: row["said"] for row in listed(rita)}
    assert (said["rejected"], said["person changed"]) == ("(no longer kept)", "(erased)")


def test_what_people_say_is_inert_on_the_page(rita: Client) -> None:
    nasty = "<img src=x onerror=alert(1)>\u202e</script>"
    stops.placed("agent", nasty, actor="olga", reason=nasty)
    with acts.acting(nasty):
        Group.objects.create(name=nasty)
    page = rita.get(reverse("acts")).content.decode()
    assert "<img src=x" not in page and "\u202e" not in page


# Live


def test_a_page_that_stands_open_is_told_how_many_acts_have_come_and_nothing_while_none_has(
    rita: Client,
) -> None:
    decided()
    page = rita.get(reverse("acts"), {"q": "kind:stop-ordered,rejected"})
    poll = f"{reverse('acts')}?{page.context['poll']}"
    headers = {"HX-Request": "true"}
    assert rita.get(poll, headers=headers).status_code == 204
    stops.order("all", actor="olga", reason="a smell")
    told = rita.get(poll, headers=headers)
    assert told.status_code == 200 and b"1 new, show it" in told.content and b"<html" not in told.content
    again = re.search(r'hx-get="([^"]+)"', told.content.decode())
    assert again and rita.get(unescape(again[1]), headers=headers).status_code == 204


@pytest.mark.django_db(transaction=True)
def test_an_open_page_costs_one_query_while_nothing_changes(rita: Client) -> None:
    decided()
    poll = f"{reverse('acts')}?{rita.get(reverse('acts')).context['poll']}"
    assert fewest(lambda: rita.get(poll, headers={"HX-Request": "true"})) == (204, 1)


# Links


def test_the_page_of_each_object_leads_to_its_acts_for_those_who_may_read_them(sign_in: SignIn) -> None:
    gate = decided()
    olga = factories.person("olga")
    made = bulk.start(olga, bulk.draft(olga, "holds", query=None, refs=[gate.effect.run.ref]).pk, "night")
    ada, run = sign_in(factories.person("ada")), gate.effect.run
    places = {
        reverse("run", args=[run.ref]): f"about:{run.ref}",
        reverse("log", args=[run.ref]): f"about:{run.ref}",
        reverse("effect", args=[gate.effect.key]): f"about:{gate.effect.key}",
        reverse("gate", args=[gate.pk]): f"about:gate:{gate.pk}",
        reverse("bulk-act", args=[made.pk]): f"about:bulk:{made.pk}",
        reverse("system"): "kind:stop-ordered,stop-lifted,restore-begun,restore-checked",
    }
    for place, query in places.items():
        links = re.findall(r'href="(/log/\?[^"]+)"', ada.get(place).content.decode())
        assert links, place
        context = ada.get(unescape(links[0])).context
        assert (str(context["query"]), context["query"].problems) == (query, ()), place
        assert "/log/?" not in sign_in(User.objects.get(username="alice")).get(place).content.decode()


def test_the_right_is_one_of_its_own() -> None:
    holders = {name for name in factories.ROLES if name in READERS}
    able = {name for name in factories.ROLES if Capability.SEE_LOG in _held(name)}
    assert able == holders


def _held(name: str) -> frozenset[Capability]:
    from approvals import access

    return access.capabilities(factories.person(name))


# Plans


@pytest.mark.parametrize(
    ("query", "index"),
    [
        ("", {"act_of_people", "act_of_machines"}),
        ("only:people", {"act_of_people"}),
        ("only:machines", {"act_of_machines"}),
        ("actor:marta", {"act_by_actor"}),
        ("kind:rejected,approved", {"act_by_kind"}),
        ("only:refused", {"act_by_kind"}),
        ("from:2026-01-01 to:2026-01-31 only:people", {"act_of_people"}),
    ],
)
@pytest.mark.parametrize("after", ["", "1764488400123456.17"])
def test_the_database_goes_through_the_index_of_the_search(query: str, index: set[str], after: str) -> None:
    found = act_list.below(act_list.branches(parse(query)), act_list.place(after))
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute("SET LOCAL enable_bitmapscan = off")
        cursor.execute("SET LOCAL enable_sort = off")
    plans = [part.explain() for part in found]
    assert {name for plan in plans for name in re.findall(r"act_\w+", plan)} == index
    assert not any("Sort" in plan for plan in plans)
