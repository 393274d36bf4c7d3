"""Acts outside of runs: logged in the transaction that makes them true, in their object's chain, words sealed apart."""

from __future__ import annotations

import os

import psycopg
import pytest
from django.db import DatabaseError, connection, transaction

from durable import acts, recovery, retention, stops, vault
from durable.errors import Conflict, Invalid
from durable.models import ACTS, Chain, Effect, LedgerEvent, Run, Stop, Wait
from durable.models.fields import Clock
from durable.states import COURSE, ActKind, EventKind
from tests import factories
from tests.engine import agents, desk, held
from tests.engine.restored import restored
from tests.logged import full, told
from tests.together import at_once

pytestmark = pytest.mark.django_db(transaction=True)
STOP = ActKind.STOP_ORDERED


def log(about: str = "stop:1", **more: object) -> None:
    with transaction.atomic():
        acts.record(STOP, actor="olga", about=about, **more)  # type: ignore[arg-type]  # as each test gives them


def test_an_act_outside_of_a_transaction_is_refused() -> None:
    with pytest.raises(RuntimeError, match="no transaction is open"):
        acts.record(STOP, actor="olga", about="stop:1")
    assert told() == []


def test_an_act_goes_with_the_transaction_that_it_was_logged_in() -> None:
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        acts.record(STOP, actor="olga", about="stop:1", reason="a smell")
        raise ZeroDivisionError
    assert told() == [] and not Chain.objects.exists()


def test_what_is_said_is_sealed_and_what_changed_is_told() -> None:
    log(before={"order": ""}, after={"order": "stands"}, reason="Ada Lovelace wrote", body={"scope": "all"})
    (act,) = told()
    assert (act.actor, act.about, act.said) == ("olga", "stop:1", "Ada Lovelace wrote")
    assert act.change == ({"order": ""}, {"order": "stands"})
    assert "Lovelace" not in repr(LedgerEvent.objects.values())
    vault.forget("stop:1")
    with pytest.raises(vault.Erased):
        vault.act_words(LedgerEvent.objects.get())
    held.check_chains()


def test_words_that_no_database_could_hold_are_refused() -> None:
    with pytest.raises(Invalid):
        log(reason="a\x00b")
    assert told() == []


def test_an_act_on_a_run_stands_in_the_runs_own_chain() -> None:
    run = agents.start("Walker")
    log(run.ref, reason="for the lawyers")
    event = LedgerEvent.objects.filter(run_ref=run.ref).latest("no")
    assert (event.kind, event.actor) == ("stop ordered", "olga")
    assert vault.read(event.detail.sealed) == "for the lawyers"
    held.check_chains()


def test_writers_about_one_object_at_once_make_one_chain_and_others_do_not_wait() -> None:
    at_once(*[lambda: [log() for _ in range(10)] and None for _ in range(4)])
    assert Chain.objects.get(run_ref="stop:1").no == 40
    held.check_chains()
    with transaction.atomic():
        acts.record(STOP, actor="olga", about="stop:1")
        with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as other:
            other.execute("SET lock_timeout = '2s'")
            other.execute(
                "INSERT INTO durable_ledgerevent (run_ref, kind, effect_key, actor, body)"
                " VALUES ('stop:2', 'stop ordered', '', 'olga', '{}')"
            )


@pytest.mark.parametrize(
    "statement", ["UPDATE durable_ledgerevent SET actor = 'eve'", "DELETE FROM durable_ledgerevent"]
)
@pytest.mark.parametrize("who", ["DATABASE_URL", "DATABASE_OWNER_URL"])
def test_nobody_changes_the_log(statement: str, who: str) -> None:
    log()
    with psycopg.connect(os.environ[who]) as opened, pytest.raises(psycopg.errors.InsufficientPrivilege):
        opened.execute(statement)
    assert [act.actor for act in told()] == ["olga"]


def test_each_kind_of_event_is_either_an_act_or_the_course_of_a_run() -> None:
    """A new kind is an act, until somebody who weighs what each run pays for it says otherwise."""
    assert len(COURSE) == 22
    index = "SELECT indexdef FROM pg_indexes WHERE indexname = 'act_by_kind'"
    with connection.cursor() as cursor:
        cursor.execute(index)
        (stored,) = cursor.fetchone()
    assert all(f"'{kind.value}'" in stored for kind in COURSE)
    assert [kind for kind in EventKind if kind not in COURSE and f"'{kind.value}'" in stored] == []


# The engine's own acts


def test_an_order_to_stop_is_logged_from_its_beginning_to_its_end() -> None:
    order = stops.order("tool", "pay", actor="olga", reason="it pays twice")
    with pytest.raises(Conflict):
        stops.order("tool", "pay", actor="olga", reason="it pays twice")
    stops.lift(order.pk, actor="ada", reason="mended")
    with pytest.raises(Conflict):
        stops.lift(order.pk, actor="ada", reason="mended")
    assert [(act.kind, act.actor, act.said, act.change) for act in told()] == [
        ("stop ordered", "olga", "it pays twice", ({"order": ""}, {"order": "stands"})),
        ("stop lifted", "ada", "mended", ({"order": "stands"}, {"order": "lifted"})),
    ]


def test_an_order_that_cannot_be_logged_does_not_stand_and_one_that_stands_is_not_lifted() -> None:
    with full(), pytest.raises(DatabaseError, match="disk full"):
        stops.order("all", actor="olga", reason="a smell")
    assert not Stop.objects.exists()
    order = stops.order("all", actor="olga", reason="a smell")
    with full(), pytest.raises(DatabaseError, match="disk full"):
        stops.lift(order.pk, actor="olga", reason="done")
    assert Stop.objects.get().lifted_at is None


def test_a_restore_is_logged_with_its_order() -> None:
    agents.start("Walker")
    restored()
    kinds = [act.kind for act in told() if not act.about.startswith("run-")]
    assert kinds == ["stop ordered", "restore begun", "restore checked", "stop lifted"]


def test_fifty_gates_that_the_sweeper_lets_lapse_are_fifty_acts_by_interlock() -> None:
    gates = [factories.gate() for _ in range(50)]
    Wait.objects.update(deadline=Clock())
    while recovery.sweep()["waits"]:
        pass  # a slow machine takes more than one
    found = told("expired")
    assert {act.concerns for act in found} == {gate.effect.key for gate in gates} and len(found) == 50
    assert {act.actor for act in found} == {"interlock"}
    assert all(act.change == ({"state": "gated"}, {"state": "expired"}) for act in found)


def test_each_run_that_is_pruned_is_an_act_with_how_much_of_it_went() -> None:
    runs = [desk.drive(agents.start("Walker")) for _ in range(3)]
    desk.time_passes(days=30)
    retention.prune(actor="ada", reason="tidy")
    found = told("pruned")
    assert {act.about for act in found} == {run.ref for run in runs} and len(found) == 3
    assert {(act.actor, act.body["checkpoints"], act.body["frozen"]) for act in found} == {("ada", 2, 2)}


def test_what_a_run_writes_on_its_way_is_no_act() -> None:
    run: Run = desk.drive(agents.start("Walker"))
    assert LedgerEvent.objects.filter(run_ref=run.ref).count() > 3
    assert Effect.objects.exists() and not LedgerEvent.objects.filter(ACTS).exists()
