"""What goes with an erasure beside the runs: no more than was shown, by whole names, and not under a legal hold."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from approvals import run_views
from approvals.models import BulkAct, Export, RunView
from durable import acts, concerned, erasing, holds, stops, vault
from durable.clock import db_now
from durable.concerned import Called
from durable.models import Erasure, LedgerEvent, LegalHold, Run, Stop
from tests import factories
from tests.approvals.conftest import SignIn
from tests.approvals.test_erasure_pages import asked, ended, look
from tests.approvals.test_query_bounds import MOST
from tests.logged import told

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def house(settings: Any, tmp_path: Path) -> None:
    """One person may; that it takes two has a test below."""
    settings.ERASE_ALONE_LIMIT = 100
    settings.INTERLOCK_ERASURE_FILE = str(tmp_path / "erasures.jsonl")
    settings.INTERLOCK_EXPORTS = str(tmp_path)


@pytest.fixture
def ada(sign_in: SignIn) -> Client:
    return sign_in(factories.person("ada"))


@pytest.fixture
def olga() -> User:
    return factories.person("olga")


def said(reason: str) -> LedgerEvent:
    """An act outside of runs with these words."""
    stop = stops.order("tool", "pay_out", actor="olga", reason=reason)
    stops.lift(stop.pk, actor="olga", reason="over")
    return LedgerEvent.objects.get(run_ref=acts.about("stop", stop.pk), kind="stop ordered")


def words(event: LedgerEvent) -> str:
    try:
        return vault.act_words(event)
    except vault.Erased:
        return "(erased)"


def acted(by: User, reason: str) -> BulkAct:
    return BulkAct.objects.create(person=by, act="retries", total=1, reason=reason)


def file_of(person: User) -> Export:
    until = db_now() + timedelta(days=1)
    given = {"of": "ledger", "form": "csv", "zone": "UTC", "state": "made", "file": "9-1.csv"}
    return Export.objects.create(person=person, expires_at=until, **given)


def carried_on() -> None:
    """Beat comes by, ten minutes later."""
    Erasure.objects.filter(done_at=None).exclude(due_at=None).update(due_at=db_now())
    for pk in erasing.due():
        erasing.carry_on(pk)


def test_a_short_name_and_a_part_of_a_word_make_nothing_unreadable(ada: Client, olga: User) -> None:
    run = ended("12")
    contract, price = said("12 months per contract"), said("order 12 of them for 129.12")
    run_views.save(olga, "the last 12", "status:failed")
    act = acted(olga, "12 of them failed")
    assert look(ada, "order:12").context["beside"] == []
    assert asked(ada, names="order:12", confirmed="12", seen=seen(ada, "order:12")).status_code == 303
    carried_on()
    assert [words(contract), words(price)] == ["12 months per contract", "order 12 of them for 129.12"]
    act.refresh_from_db()
    assert act.reason == "12 of them failed" and RunView.objects.exists()
    assert Run.objects.get(pk=run.pk).input == {}


def seen(client: Client, names: str) -> str:
    return str(look(client, names).context["seen"])


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("Anna has called", True),
        ("(ANNA)", True),
        ("anna_12", True),
        ("for anna's order", True),
        ("Susanna has called", False),
        ("annabel", False),
        ("anna5", False),
        ("", False),
    ],
)
def test_somebody_is_named_by_a_whole_word_however_it_is_written_in_capitals(text: str, named: bool) -> None:
    assert concerned.names([Called("customer", "anna")], text) is named
    assert concerned.names([Called("customer", "ann")], text) is False


def test_all_that_goes_is_counted_and_listed_before_and_nothing_else_goes(ada: Client, olga: User) -> None:
    ended("anna")
    hers, others = said("Anna has called"), said("Susanna has called")
    run_views.save(olga, "hers", "subject:anna")
    run_views.save(olga, "others", "subject:susanna")
    act, other_act = acted(olga, "anna asks again"), acted(olga, "susanna asks")
    hold = holds.set_on_subject("order", "0" * 64, actor="olga", reason="anna goes to court")
    holds.lift(hold.pk, actor="olga", reason="settled")
    made = file_of(olga)
    shown = look(ada, "order:anna")
    listed = [(one["name"], one["who"], one["about"]) for one in shown.context["beside"]]
    assert listed == [
        ("What was written in the log", "Olga", f"stop ordered, {hers.run_ref}"),
        ("What was written in the log", "Olga", f"view saved, {acts.person(olga.pk)}"),
        ("What was written in the log", "Olga", f"legal hold set, {acts.about('hold', hold.pk)}"),
        ("A file made for somebody to take", "Olga", "ledger, csv"),
        ("What was written about a legal hold", "Olga", f"hold {hold.pk}: reason"),
        ("The reason of an act on many runs", "Olga", "retries"),
        ("Why a stop was ordered", "Olga", "tool pay_out"),
        ("A saved view", "Olga", ""),
    ]
    page = shown.content.decode()
    assert "What goes beside the runs" in page and f"hold {hold.pk}: reason" in page

    answer = asked(ada, names="order:anna", confirmed="anna", seen=shown.context["seen"])
    assert answer.status_code == 303
    assert [words(hers), words(others)] == ["(erased)", "Susanna has called"]
    assert [stop.reason for stop in Stop.objects.order_by("pk")] == ["(erased)", "Susanna has called"]
    assert [view.name for view in RunView.objects.all()] == ["others"]
    assert [BulkAct.objects.get(pk=one.pk).reason for one in (act, other_act)] == [
        "(erased)",
        "susanna asks",
    ]
    assert holds.words(LegalHold.objects.get()) == holds.Words("(erased)", "", "settled")
    made.refresh_from_db()
    assert made.state == "deleted"
    (asking,) = told("erasure asked")
    assert asking.body["beside"] == {
        "files": 1,
        "hold reason": 1,
        "reasons": 1,
        "stops": 1,
        "views": 1,
        "words": 3,
    }


@pytest.mark.parametrize("what", ["words", "view", "file"])
def test_what_names_them_since_it_was_shown_is_shown_first_and_nothing_goes(
    what: str, ada: Client, olga: User
) -> None:
    run = ended("anna")
    hers = said("Anna has called")
    before = seen(ada, "order:anna")
    if what == "words":
        said("Anna has called again")
    elif what == "view":
        run_views.save(olga, "hers", "subject:anna")
    else:
        file_of(olga)
    answer = asked(ada, names="order:anna", confirmed="anna", seen=before)
    assert answer.status_code == 409 and "has changed since" in answer.content.decode()
    assert not Erasure.objects.exists() and words(hers) == "Anna has called"
    assert Run.objects.get(pk=run.pk).input == {"order": "anna"}


@pytest.mark.parametrize("scope", ["run", "subject", "search"])
def test_nothing_beside_the_runs_goes_while_a_legal_hold_keeps_one_and_all_of_it_once_that_is_lifted(
    scope: str, ada: Client, olga: User
) -> None:
    run = ended("anna")
    hers = said("Anna has called")
    run_views.save(olga, "hers", "subject:anna")
    made = file_of(olga)
    hold = {
        "run": lambda: holds.set_on_run(run.ref, actor="olga", reason="a claim"),
        "subject": lambda: holds.set_on_subject(
            "order", Called("order", "anna").hash, actor="olga", reason="a claim"
        ),
        "search": lambda: holds.set_on_search("order:anna", actor="olga", reason="a claim"),
    }[scope]()
    shown = look(ada, "order:anna")
    assert "a legal hold keeps a run of theirs" in shown.content.decode()
    page = ada.get(asked(ada, names="order:anna", confirmed="anna", seen=shown.context["seen"])["Location"])
    carried_on()
    assert "waits until no legal hold keeps a run of theirs" in page.content.decode()
    made.refresh_from_db()
    assert (words(hers), made.state, RunView.objects.count()) == ("Anna has called", "made", 1)
    assert Run.objects.get(pk=run.pk).input == {"order": "anna"}

    holds.lift(hold.pk, actor="olga", reason="settled")
    carried_on()
    made.refresh_from_db()
    assert (words(hers), made.state, RunView.objects.count()) == ("(erased)", "deleted", 0)
    assert Run.objects.get(pk=run.pk).input == {}
    erasure = Erasure.objects.get()
    assert erasure.done_at is not None and erasure.beside_at is not None
    assert told("export deleted")[0].actor == "ada"


def test_what_waits_under_a_hold_is_remembered_by_numbers_alone(ada: Client, olga: User) -> None:
    run = ended("anna")
    hers = said("Anna has called")
    holds.set_on_run(run.ref, actor="olga", reason="a claim")
    asked(ada, names="order:anna", confirmed="anna", seen=seen(ada, "order:anna"))
    with connection.cursor() as cursor:
        cursor.execute("SELECT e::text FROM durable_erasure e")
        (row,) = cursor.fetchone()
    remembered = {"words": [hers.pk], "stops": [Stop.objects.get().pk]}
    assert Erasure.objects.get().beside == remembered and "anna" not in row.lower()


def test_two_people_have_been_shown_the_same_words_and_views(
    ada: Client, sign_in: SignIn, olga: User, settings: Any
) -> None:
    settings.ERASE_ALONE_LIMIT = 0
    noor = factories.person("noor")
    noor.groups.add(Group.objects.get(name="admin"))
    second, run = sign_in(noor), ended("anna")
    form = {"names": "order:anna", "confirmed": "anna"}
    asked(ada, **form, seen=seen(ada, "order:anna"))
    hers = said("Anna has called")
    asked(second, **form, seen=seen(second, "order:anna"))
    assert words(hers) == "Anna has called" and Run.objects.get(pk=run.pk).input
    # Files come and go by themselves; what one of the two was shown of them binds nobody.
    made = file_of(olga)
    asked(ada, **form, seen=seen(ada, "order:anna"))
    made.refresh_from_db()
    assert (words(hers), made.state) == ("(erased)", "deleted")


def test_looking_takes_few_queries_however_much_stands_beside_the_runs(ada: Client, olga: User) -> None:
    ended("anna")
    for number in range(6):
        said(f"Anna has called {number}")
        run_views.save(olga, f"hers {number}", "subject:anna")
    file_of(olga)
    with CaptureQueriesContext(connection) as queries:
        assert look(ada, "order:anna").context["beside_total"] == 25
    assert len(queries) <= MOST
