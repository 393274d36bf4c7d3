"""A second person's say before a person's data is erased: nothing goes on one word, and nothing but what both saw."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.db import IntegrityError, connection, transaction
from django.test import Client
from django.urls import reverse

from approvals import run_views
from approvals.models import RunView
from durable import erasing
from durable.models import Erasure, ErasureRun, LedgerEvent, Run
from tests import factories
from tests.approvals.conftest import SignIn
from tests.approvals.test_erasure_pages import asked, ended, look
from tests.engine.rooted import said

pytestmark = pytest.mark.django_db


@pytest.fixture
def noor(sign_in: SignIn) -> Client:
    person = factories.person("noor")
    person.groups.add(Group.objects.get(name="admin"))
    return sign_in(person)


def told() -> list[tuple[str, str]]:
    """The erasures' own acts, and whose they are."""
    found = LedgerEvent.objects.filter(kind__startswith="erasure").order_by("id")
    return list(found.values_list("kind", "actor"))


def words(answer: Any) -> str:
    """What a page says, without its markup."""
    return re.sub(r"\s+", " ", re.sub("<[^>]+>", "", answer.content.decode()))


def carried_on() -> None:
    for pk in erasing.due():
        erasing.carry_on(pk)


def test_what_one_person_asks_for_waits_and_takes_nothing_away(ada: Client) -> None:
    run = ended()
    view = run_views.save(factories.person("olga"), "hers", "subject:8812")
    page = ada.get(asked(ada)["Location"])
    carried_on()
    erasing.carry_on(Erasure.objects.get().pk)
    assert "another person must agree" in page.content.decode()
    assert (
        Run.objects.get(pk=run.pk).input == {"order": "8812"} and RunView.objects.filter(pk=view.pk).exists()
    )
    assert list(erasing.due()) == [] and told() == [("erasure asked", "ada")]
    assert "another person must agree" in ada.get(reverse("erasures")).content.decode()


def test_nobody_agrees_with_themselves(ada: Client) -> None:
    run = ended()
    asked(ada)
    assert "You have asked for this" in look(ada).content.decode()
    answer = asked(ada)
    assert (
        answer.status_code == 409
        and "another person who may erase must ask for the same" in answer.content.decode()
    )
    carried_on()
    assert Run.objects.get(pk=run.pk).input and told() == [("erasure asked", "ada")]


def test_once_another_person_asks_for_the_same_it_goes(ada: Client, noor: Client) -> None:
    run = ended()
    run_views.save(factories.person("olga"), "hers", "subject:8812")
    first = asked(ada)["Location"]
    assert "Ada has asked for this" in words(look(noor))
    answer = asked(noor)
    assert (answer.status_code, answer["Location"]) == (303, first)
    assert told() == [("erasure asked", "ada"), ("erasure agreed", "noor")]
    assert not RunView.objects.exists()
    carried_on()
    assert Run.objects.get(pk=run.pk).input == {}
    made = Erasure.objects.get()
    assert (made.actor, made.agreed_by, made.done_at is not None) == ("ada", "noor", True)
    assert "agreed to by Noor" in words(noor.get(first))


def test_what_is_not_the_same_replaces_what_was_asked_for_and_waits_in_its_turn(
    ada: Client, noor: Client
) -> None:
    first, second = ended(), None
    asked(ada)
    second = ended()
    answer = asked(noor)
    assert answer.status_code == 303
    carried_on()
    assert all(Run.objects.get(pk=run.pk).input for run in (first, second))
    assert told() == [("erasure asked", "ada"), ("erasure asked", "noor"), ("erasure withdrawn", "noor")]
    assert [(one.actor, one.proposed) for one in Erasure.objects.order_by("pk")] == [
        ("ada", False),
        ("noor", True),
    ]
    asked(ada)
    carried_on()
    assert not any(Run.objects.get(pk=run.pk).input for run in (first, second))


def test_what_waits_for_a_second_person_can_be_withdrawn_and_then_nobody_agrees_to_it(
    ada: Client, noor: Client
) -> None:
    run = ended()
    address = asked(ada)["Location"]
    assert noor.post(f"{address}withdrawals/").status_code == 303
    page = words(ada.get(address))
    assert "Noor withdrew it" in page and "Nothing of it was erased" in page
    assert ErasureRun.objects.get().state == "left" and told()[-1] == ("erasure withdrawn", "noor")
    asked(noor)
    carried_on()
    assert Run.objects.get(pk=run.pk).input and Erasure.objects.order_by("pk").last().proposed
    refused = ada.post(f"{address}withdrawals/")
    assert refused.status_code == 409 and "nothing about it can be taken back" in words(refused)


def test_the_database_itself_lets_nothing_become_due_on_one_word(ada: Client) -> None:
    ended()
    asked(ada)
    for change in ("due_at = now()", "done_at = now()", "due_at = now(), agreed_by = actor"):
        with pytest.raises(IntegrityError), transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(f"UPDATE durable_erasure SET {change}")
    with connection.cursor() as cursor:
        cursor.execute("UPDATE durable_erasure SET due_at = now(), agreed_by = 'noor'")


def test_up_to_the_limit_one_person_is_enough(ada: Client, settings: Any) -> None:
    settings.ERASE_ALONE_LIMIT = 1
    run = ended()
    asked(ada)
    carried_on()
    assert Run.objects.get(pk=run.pk).input == {}
    ended(), ended()
    asked(ada)
    assert Erasure.objects.latest("pk").proposed


@pytest.mark.django_db(transaction=True)
def test_on_the_command_line_it_takes_two_names_as_well() -> None:
    run = ended()
    seen = said("erase", "order:8812")[1].rpartition("--seen ")[2].split()[0]
    words = ("erase", "order:8812", "--seen", seen, "--reason", "asked", "--actor")
    code, told_first = said(*words, "ada")
    assert code == 1 and "waits for a second person" in told_first
    for same in ("ada", "Ada", " ADA "):
        code, refused = said(*words, same)
        assert code == 2 and "another person" in refused
    code, done = said(*words, "noor")
    assert (code, "1 runs erased, 0 wait" in done) == (0, True)
    assert Run.objects.get(pk=run.pk).input == {}
