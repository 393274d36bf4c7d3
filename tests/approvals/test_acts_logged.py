"""What people do through pages to no single run is logged: acts on many runs, views, a vendor that is to be asked."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from approvals import bulk
from durable.models import Run
from tests import factories
from tests.approvals.conftest import SignIn
from tests.logged import told

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def nobody_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk, "announce", lambda pk: None)


@pytest.fixture
def olga() -> User:
    return factories.person("olga")


def refs(count: int) -> list[str]:
    return [factories.gate().effect.run.ref for _ in range(count)]


def test_every_run_of_an_act_on_many_is_an_act_of_its_own(olga: User) -> None:
    found = refs(5)
    made = bulk.start(olga, bulk.draft(olga, "holds", query=None, refs=found).pk, "the night shift rests")
    bulk.carry_on(made.pk)
    held = told("held")
    assert {act.about for act in held} == set(found) and len(held) == 5
    assert {(act.actor, act.change[0]["held"], act.change[1]["held"]) for act in held} == {
        ("olga", False, True)
    }
    of_bulk = told(about=f"bulk:{made.pk}")
    assert [(act.kind, act.actor, act.said) for act in of_bulk] == [
        ("bulk act drafted", "olga", ""),
        ("bulk act started", "olga", "the night shift rests"),
        ("bulk act ended", "interlock", ""),
    ]
    assert [act.change for act in of_bulk] == [
        ({}, {"runs": 5, "state": "drafted"}),
        ({"state": "drafted"}, {"state": "going"}),
        ({"state": "going"}, {"state": "done"}),
    ]


def test_an_act_on_many_that_is_stopped_is_logged_with_who_did(olga: User) -> None:
    made = bulk.start(olga, bulk.draft(olga, "holds", query=None, refs=refs(2)).pk, "night")
    bulk.stop(olga, made.pk)
    last = told(about=f"bulk:{made.pk}")[-1]
    assert (last.kind, last.actor, last.change) == (
        "bulk act stopped",
        "olga",
        ({"state": "going"}, {"state": "stopped"}),
    )


def test_a_view_is_logged_with_its_name_and_query_sealed(olga: User, sign_in: SignIn) -> None:
    client, query = sign_in(olga), "subject:ada@example.com"
    assert client.post(reverse("run-views"), {"q": query, "name": "Ada's"}).status_code == 303
    (view,) = client.get(reverse("runs")).context["saved"]
    assert client.post(reverse("run-view-deletions", args=[view["id"]])).status_code == 303
    saved, deleted = told("view saved", "view deleted")
    assert {saved.said, deleted.said} == {f"Ada's: {query}"}
    assert {saved.about, deleted.about} == {f"person:{olga.pk}"}
    assert "ada@" not in repr([saved.body, deleted.body])


STEERED: dict[str, tuple[dict[str, Any], str, tuple[Any, Any]]] = {
    "holds": ({}, "held", ({"held": False}, {"held": True})),
    "cancellations": ({"undo": ""}, "cancel asked", ({"state": "suspended"}, {"state": "cancelling"})),
}


@pytest.mark.parametrize("noun", STEERED)
def test_what_an_operator_does_to_a_run_says_how_it_was_before(
    noun: str, olga: User, sign_in: SignIn
) -> None:
    from durable import standing

    run: Run = factories.gate().effect.run
    more, kind, change = STEERED[noun]
    stands = standing.of(run)
    seen = {"holds": stands.stop, "cancellations": stands.done}[noun]
    answer = sign_in(olga).post(reverse(noun, args=[run.ref]), {"reason": "x", "seen": seen, **more})
    assert answer.status_code == 303
    (act,) = told(kind)
    assert (act.actor, act.about, act.change) == ("olga", run.ref, change)
