"""Legal holds: set on a run, a subject or a search, told in the log, kept for good, and asked by whoever deletes."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from django.db import IntegrityError, connection, transaction

from durable import acts, holds
from durable.errors import Conflict, Invalid, NotFound
from durable.models import LedgerEvent, LegalHold, Run, Subject
from tests import factories
from tests.engine.rooted import url

pytestmark = pytest.mark.django_db(transaction=True)


def paid(order: str, amount: str = "20") -> Run:
    """A run with an effect about an order."""
    claim = factories.running()
    factories.propose(claim, order=order, amount=amount, currency="EUR")
    return Run.objects.get(pk=claim.run_id)


def hash_of(run: Run) -> str:
    return Subject.objects.get(run=run).hash


def held() -> set[str]:
    """The runs that are held, by what the view says in plain SQL."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT r.ref FROM durable_run r "
            "WHERE EXISTS (SELECT FROM durable_heldrun h WHERE h.run_id = r.id)"
        )
        return {ref for (ref,) in cursor.fetchall()}


def told(hold: LegalHold) -> list[tuple[str, str]]:
    rows = LedgerEvent.objects.filter(run_ref=acts.about("hold", hold.pk)).order_by("no")
    return [(row.kind, row.actor) for row in rows]


def test_a_hold_of_a_run_holds_that_run_alone_until_it_is_lifted() -> None:
    run, other = paid("8812"), paid("8813")
    hold = holds.set_on_run(run.ref, actor="ada", reason="a claim")
    assert held() == {run.ref}
    assert {one.ref for one in Run.objects.filter(holds.held())} == {run.ref}
    assert holds.of_runs([run.pk, other.pk]) == {run.pk: [hold]}
    lifted = holds.lift(hold.pk, actor="rita", reason="settled")
    assert (lifted.lifted_by, lifted.lifted_at is not None) == ("rita", True)
    assert held() == set()
    assert told(hold) == [("legal hold set", "ada"), ("legal hold lifted", "rita")]
    assert holds.words(lifted) == holds.Words("a claim", "", "settled")


def test_a_hold_of_a_subject_holds_what_comes_later_too() -> None:
    first = paid("8812")
    hold = holds.set_on_subject("order", hash_of(first), actor="ada", reason="a claim")
    later, other = paid("8812"), paid("8813")
    assert held() == {first.ref, later.ref}
    assert holds.of_subject(hash_of(first)) == [hold]
    assert holds.of_subject(hash_of(other)) == []


def test_nothing_about_a_subject_may_be_erased_while_a_run_that_knows_it_is_held() -> None:
    run = paid("8812")
    hold = holds.set_on_run(run.ref, actor="ada", reason="a claim")
    assert holds.of_subject(hash_of(run)) == [hold]


def test_a_hold_by_search_holds_what_the_search_finds_later_and_lets_nothing_go_again() -> None:
    small, large = paid("8812", "20"), paid("8812", "90")
    hold = holds.set_on_search("order:8812 amount:>=50", actor="ada", reason="a claim")
    assert held() == {large.ref}
    later = paid("8812", "70")
    assert holds.find_again() == []
    assert held() == {large.ref, later.ref}
    with connection.cursor() as cursor:
        cursor.execute("UPDATE durable_effect SET amount_minor = 1")
    assert holds.find_again() == []
    assert held() == {large.ref, later.ref} and small.ref not in held()
    assert holds.words(hold).search == "order:8812 amount:>=50"


def test_a_search_that_can_not_be_resolved_any_more_is_told() -> None:
    hold = holds.set_on_search("order:8812", actor="ada", reason="a claim")
    box = holds._box(hold.pk, holds.Words("a claim", "amount:lots"))
    LegalHold.objects.update(box=box)
    assert holds.find_again() == [hold]
    assert "amount" in LegalHold.objects.get().trouble


@pytest.mark.parametrize("search", ["", " ", "amount:lots", "nonsense:1"])
def test_a_search_that_means_nothing_is_refused(search: str) -> None:
    with pytest.raises(Invalid):
        holds.set_on_search(search, actor="ada", reason="a claim")
    assert (
        not LegalHold.objects.exists() and not LedgerEvent.objects.filter(run_ref__startswith="hold").exists()
    )


def test_a_hold_needs_a_reason_and_something_to_hold_and_stands_once() -> None:
    run = paid("8812")
    with pytest.raises(Invalid, match="why"):
        holds.set_on_run(run.ref, actor="ada", reason=" ")
    with pytest.raises(NotFound):
        holds.set_on_run("run-none", actor="ada", reason="a claim")
    hold = holds.set_on_run(run.ref, actor="ada", reason="a claim")
    with pytest.raises(Conflict, match="already"):
        holds.set_on_run(run.ref, actor="ada", reason="a claim")
    holds.lift(hold.pk, actor="ada", reason="over")
    with pytest.raises(Conflict, match="lifted by ada already"):
        holds.lift(hold.pk, actor="ada", reason="over")


def test_what_is_written_about_a_hold_stands_nowhere_in_clear() -> None:
    holds.set_on_search("order:ann@example.org", actor="ada", reason="Ann goes to court")
    with connection.cursor() as cursor:
        cursor.execute("SELECT h::text || e.body FROM durable_legalhold h, durable_ledgerevent e")
        rows = " ".join(row for (row,) in cursor.fetchall())
    assert "ann" not in rows.lower()


@pytest.mark.parametrize("who", ["application", "owner", "superuser"])
@pytest.mark.parametrize(
    "change",
    [
        "DELETE FROM durable_legalhold",
        "TRUNCATE durable_legalhold CASCADE",
        "UPDATE durable_legalhold SET zone = 'Pacific/Auckland'",
        "UPDATE durable_legalhold SET hash = 'x', scope = 'subject', run_id = NULL",
        "UPDATE durable_legalhold SET lifted_at = NULL, lifted_by = '' WHERE lifted_at IS NOT NULL",
    ],
)
def test_nobody_deletes_a_hold_or_makes_it_another(who: str, change: str) -> None:
    lifted, stands = paid("8812"), paid("8813")
    hold = holds.set_on_run(lifted.ref, actor="ada", reason="a claim")
    holds.lift(hold.pk, actor="ada", reason="over")
    holds.set_on_run(stands.ref, actor="ada", reason="a claim")
    before: list[Any] = list(LegalHold.objects.order_by("pk").values())
    with psycopg.connect(url(who)) as opened, pytest.raises(psycopg.errors.InsufficientPrivilege):
        opened.execute(change.encode())
    assert list(LegalHold.objects.order_by("pk").values()) == before


def test_the_database_takes_no_hold_about_two_things_or_none() -> None:
    run = paid("8812")
    for about in ({"run": run, "hash": "x"}, {}):
        with pytest.raises(IntegrityError), transaction.atomic():
            LegalHold.objects.create(scope="run", actor="ada", box=b"", **about)


def test_the_act_stands_and_falls_with_its_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    run = paid("8812")

    def full(*_: Any, **__: Any) -> None:
        raise OSError("the disk is full")

    monkeypatch.setattr(acts, "record", full)
    with pytest.raises(OSError):
        holds.set_on_run(run.ref, actor="ada", reason="a claim")
    assert not LegalHold.objects.exists()
