"""Roles, rights and the people of the demonstration."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.hashers import MD5PasswordHasher
from django.contrib.auth.models import AnonymousUser, Group, User
from django.db import connection
from django.test import Client
from django.urls import reverse

from approvals import access
from approvals.capabilities import ROLES, Capability
from approvals.decisions import Answer, Circumstances, decide
from approvals.models import Gate
from approvals.people import DEMO_PASSWORD, DEMO_PEOPLE, demo_people, let_in
from approvals.states import Verdict
from tests import factories
from tests.approvals.conftest import SignIn

pytestmark = pytest.mark.django_db

DECIDERS = {"alice", "bob"}
HERE = Circumstances(ip="", browser="", authenticated="session")


class Watching(MD5PasswordHasher):
    """Says whether a transaction was open while it hashed."""

    open: list[bool] = []

    def encode(self, password: str, salt: str) -> str:
        self.open.append(connection.in_atomic_block)
        return super().encode(password, salt)


@pytest.mark.django_db(transaction=True)
def test_no_transaction_rests_while_a_password_is_hashed(settings: Any) -> None:
    settings.PASSWORD_HASHERS = [f"{Watching.__module__}.{Watching.__name__}"]

    demo_people("another password")

    assert len(Watching.open) >= len(DEMO_PEOPLE)
    assert not any(Watching.open)


def test_only_reviewers_decide_and_only_operators_steer() -> None:
    cast = factories.cast()
    able = {what: {name for name, user in cast.items() if access.may(user, what)} for what in Capability}
    assert able[Capability.DECIDE] == DECIDERS
    assert able[Capability.STEER_RUNS] == able[Capability.SETTLE] == able[Capability.ANSWER_BACK] == {"olga"}
    assert able[Capability.SEE_LEDGER] == DECIDERS | {"olga", "rita", "ada"}


def test_a_stranger_and_a_superuser_without_a_role_may_do_nothing() -> None:
    assert access.capabilities(AnonymousUser()) == frozenset()
    assert access.capabilities(User.objects.create_superuser("root")) == frozenset()


def test_somebody_switched_off_may_do_nothing() -> None:
    alice = factories.person("alice")
    alice.is_active = False
    assert access.capabilities(alice) == frozenset()


def test_what_an_admin_changed_in_a_role_survives_the_next_migration() -> None:
    reviewer = Group.objects.get(name="reviewer")
    reviewer.permissions.remove(reviewer.permissions.get(codename="see_ledger"))
    Group.objects.get(name="auditor").delete()
    from django.apps import apps

    from approvals.roles import make_roles

    make_roles(apps.get_app_config("approvals"), using="default")
    assert not Group.objects.get(name="reviewer").permissions.filter(codename="see_ledger").exists()
    assert Group.objects.get(name="auditor").permissions.count() == len(ROLES["auditor"])


def test_the_demo_people_sign_in_each_with_their_role_however_often_they_are_made() -> None:
    demo_people()
    people = demo_people()
    for person in people:
        client = Client()
        answer = client.post(reverse("sign-in"), {"username": person.username, "password": DEMO_PASSWORD})
        assert answer.status_code == 302
        user = User.objects.get(username=person.username)
        assert (user.get_full_name(), access.role(user)) == (
            f"{person.first_name} {person.last_name}",
            person.role.capitalize(),
        )
    assert User.objects.count() == len(people) == len(let_in())


def test_what_people_have_decided_about_the_demo_people_outlasts_the_next_start() -> None:
    demo_people()
    marta, jonas, sven = (User.objects.get(username=name) for name in ("marta", "jonas", "sven"))
    marta.set_password("one of her own")
    marta.save()
    User.objects.filter(pk=jonas.pk).update(is_active=False)
    sven.groups.set([Group.objects.get(name="auditor")])
    demo_people()
    assert User.objects.get(pk=marta.pk).check_password("one of her own")
    assert not User.objects.get(pk=jonas.pk).is_active
    assert access.role(User.objects.get(pk=sven.pk)) == "Auditor"
    assert {user.username for user in let_in()} == {"sven", "rita", "ada", "noor"}


def test_a_wrong_password_opens_nothing_and_names_no_reason() -> None:
    factories.person("alice")
    known = Client().post(reverse("sign-in"), {"username": "alice", "password": "wrong"})
    unknown = Client().post(reverse("sign-in"), {"username": "nobody", "password": "wrong"})
    assert (known.status_code, known.context["form"].non_field_errors()) == (
        200,
        unknown.context["form"].non_field_errors(),
    )


def test_signing_in_leads_back_but_never_to_another_host() -> None:
    factories.person("alice")
    for following, lands in (("/runs/", "/runs/"), ("https://evil.example/", "/"), ("//evil.example", "/")):
        data = {"username": "alice", "password": factories.PASSWORD, "next": following}
        assert Client().post(reverse("sign-in"), data)["Location"] == lands


def test_no_link_signs_anybody_out(sign_in: SignIn) -> None:
    client = sign_in(factories.person("alice"))
    assert client.get(reverse("sign-out")).status_code == 405
    assert client.get(reverse("gates")).status_code == 200
    assert client.post(reverse("sign-out")).status_code == 302
    assert client.get(reverse("gates")).status_code == 302


def eligible(gate: Gate) -> list[str]:
    return [
        person.username
        for person in access.eligible(Gate.objects.select_related("effect__run").get(pk=gate.pk))
    ]


def test_those_who_could_approve_are_named_without_requester_editor_and_whoever_left() -> None:
    cast = factories.cast()
    assert eligible(factories.gate()) == ["alice", "bob"]
    assert eligible(factories.gate("ALICE@example.com")) == ["bob"]
    gate = factories.gate()
    args = {"order": "8812", "amount": "120", "currency": "EUR"}
    decide(cast["bob"], gate.pk, Answer(Verdict.EDIT, gate.digest, 1, args=args), HERE)
    assert eligible(Gate.objects.get(effect=gate.effect, round=2)) == ["alice"]
    User.objects.filter(username="alice").update(is_active=False)
    assert eligible(Gate.objects.get(effect=gate.effect, round=2)) == []


def test_a_gate_that_nobody_can_approve_says_so_at_once(sign_in: SignIn) -> None:
    factories.person("alice")
    gate = factories.gate("alice")
    page = sign_in(factories.person("olga")).get(reverse("gate", args=[gate.pk])).content.decode()
    assert "No eligible reviewer" in page


@pytest.mark.parametrize("who", ["olga", "rita", "ada"])
def test_who_reads_at_a_gate_is_offered_no_answer_and_told_that_others_are_asked(
    who: str, sign_in: SignIn
) -> None:
    factories.cast()
    gate = factories.gate()
    client = sign_in(User.objects.get(username=who))
    page = client.get(reverse("gate", args=[gate.pk])).content.decode()
    assert "act-bar" not in page and "You can&#x27;t approve" not in page
    assert "1 waits for people" in client.get(reverse("gates")).content.decode()
    assert (
        "1 waits for you"
        in sign_in(User.objects.get(username="alice")).get(reverse("gates")).content.decode()
    )


def test_at_a_gate_that_was_asked_back_each_reviewer_stands_once(sign_in: SignIn) -> None:
    cast, gate = factories.cast(), factories.gate()
    decide(cast["alice"], gate.pk, Answer(Verdict.ASK_BACK, gate.digest, 1, words="which order?"), HERE)
    people = sign_in(cast["rita"]).get(reverse("gate", args=[gate.pk])).context["people"]
    told = {one["name"]: one["note"].partition(" at ")[0] for one in people}
    assert len(people) == 2
    assert told == {"Alice": "asked back", "Bob": "may answer the next round"}
