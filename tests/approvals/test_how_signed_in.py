"""A decision tells how and when the person who made it had signed in."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.backends import ModelBackend
from django.test import Client
from django.urls import reverse

from approvals.models import Decision, Gate
from durable.clock import db_now
from tests import factories
from tests.logged import told

pytestmark = pytest.mark.django_db


class HouseCard(ModelBackend):
    """Another way in, as an installation may have it."""


def inside(name: str) -> Client:
    """A browser in which somebody has signed in by the page, with their password."""
    client = Client()
    factories.person(name)
    answer = client.post(reverse("sign-in"), {"username": name, "password": factories.PASSWORD})
    assert answer.status_code == 302
    return client


def says_no(client: Client, gate: Gate) -> Decision:
    given = {"digest": gate.digest, "round": gate.round, "verdict": "reject", "reason": "no receipt"}
    assert client.post(reverse("decisions", args=[gate.pk]), given).status_code == 303
    return Decision.objects.get(gate=gate)


def test_a_decision_tells_that_its_person_had_signed_in_by_password_and_when() -> None:
    before = db_now()
    alice = inside("alice")
    after = db_now()
    decision = says_no(alice, factories.gate())
    assert decision.authenticated == "password"
    assert decision.signed_in_at is not None and before <= decision.signed_in_at <= after
    assert [act.body["authenticated"] for act in told("signed in")] == ["password"]


def test_who_comes_in_another_way_has_that_in_their_decisions(settings: Any) -> None:
    settings.AUTHENTICATION_BACKENDS = ["tests.approvals.test_how_signed_in.HouseCard"]
    alice = inside("alice")
    assert says_no(alice, factories.gate()).authenticated == "HouseCard"
    assert [act.body["authenticated"] for act in told("signed in")] == ["HouseCard"]


def test_a_session_that_began_before_this_was_kept_claims_no_more_than_it_knows() -> None:
    alice = inside("alice")
    session = alice.session
    del session["method"], session["signed_in_at"]
    session.save()
    decision = says_no(alice, factories.gate())
    assert (decision.authenticated, decision.signed_in_at) == ("session", None)


def test_the_dossier_and_its_file_say_how_and_since_when_the_person_had_signed_in() -> None:
    gate = factories.gate()
    decision = says_no(inside("alice"), gate)
    rita = Client()
    rita.force_login(factories.person("rita"))
    text = rita.get(reverse("dossier-effect", args=[gate.effect.key])).content.decode()
    assert "authenticated by <bdi>password</bdi>, signed in since" in text
    file = rita.post(reverse("dossier-effect-files", args=[gate.effect.key])).json()
    (answer,) = file["effects"][0]["rounds"][0]["answers"]
    assert answer["authenticated"] == "password"
    assert decision.signed_in_at is not None
    assert answer["signed_in_at"] == decision.signed_in_at.isoformat().replace("+00:00", "Z")
    assert timedelta(0) <= decision.at - decision.signed_in_at < timedelta(hours=1)
