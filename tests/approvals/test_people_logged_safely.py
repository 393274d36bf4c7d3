"""The log of people, roles and rights holds no secret, is not to be passed by, and what can't be logged is not done."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.db import DatabaseError, connection
from django.test import Client

from approvals.people import demo_people
from durable import acts, vault
from durable.digest import canonical
from durable.models import LedgerEvent
from tests import factories
from tests.engine import held
from tests.logged import full, told

pytestmark = pytest.mark.django_db


def test_no_password_address_or_session_gets_into_the_log() -> None:
    alice = User.objects.create_user(
        "alice", "secret-address@example.com", "canary-password", last_name="Canarius"
    )
    client = Client()
    assert client.login(username="alice", password="canary-password")
    assert not client.login(username="canary-typo", password="canary-password")
    before = len(told())
    alice.refresh_from_db()
    old = alice.password
    alice.set_password("another-canary")
    alice.email, alice.last_name = "other-secret@example.com", "Canaria"
    alice.save()
    (act,) = told()[before:]
    assert act.change == ({}, {"password": "stored anew", "email": "changed", "full name": "changed"})
    key = str(client.session.session_key)
    shown = repr(list(LedgerEvent.objects.values())).lower()
    for secret in ("canar", "secret", old, alice.password, key):
        assert secret.lower() not in shown


@pytest.mark.django_db(transaction=True)
def test_what_cannot_be_logged_is_not_done() -> None:
    alice = factories.person("alice")
    with full(), pytest.raises(DatabaseError, match="disk full"):
        alice.groups.add(Group.objects.get(name="admin"))
    with full(), pytest.raises(DatabaseError, match="disk full"):
        User.objects.update(is_superuser=True)
    alice.refresh_from_db()
    assert ([group.name for group in alice.groups.all()], alice.is_superuser) == (["reviewer"], False)


def test_a_name_with_a_line_break_is_no_way_out_of_the_log() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('interlock.actor', %s, true)", ["ada\n{}"])
    alice = factories.person("al\nice")
    assert {act.actor for act in told(about=f"person:{alice.pk}")} == {"ada {}"}
    assert told(about=f"person:{alice.pk}")[0].body["name"] == "al\nice"


def test_the_people_of_the_demonstration_are_logged_as_any_others_and_once() -> None:
    demo_people("first")
    count = len(told())
    demo_people("first")
    assert told()[count:] == []


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"b": [1, True, None, "x"], "a": {"z": {}, "y": []}, "name": 'quote " and \\ and \n \t \b \f \r'},
        {"text": "ü 😀 \u2028 \x7f \x01 \x1f </script>", "A": -5, "a0": 2**53, "a": ""},
    ],
)
def test_the_database_writes_canonical_json_as_the_ledger_does(value: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT durable_canonical(%s::jsonb)", [json.dumps(value)])
        assert cursor.fetchone()[0].encode() == canonical(value)


def test_words_about_somebody_can_be_erased_and_new_ones_said_after_that() -> None:
    alice = factories.person("alice")
    with acts.acting("ada", "she is ill"):
        User.objects.filter(pk=alice.pk).update(is_active=False)
    vault.forget(acts.person(alice.pk))
    event = LedgerEvent.objects.filter(kind="person changed").get()
    with pytest.raises(vault.Erased):
        vault.act_words(event)
    with acts.acting("ada", "she is back"):
        User.objects.filter(pk=alice.pk).update(is_active=True)
    assert vault.act_words(LedgerEvent.objects.filter(kind="person changed").latest("id")) == "she is back"
    held.check_chains()
