"""What a database may do short of dying: lose its answer, stand still, have no room or no patience for anybody."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from decimal import Decimal
from typing import Any

import psutil
import psycopg
import pytest
from django.contrib.auth.models import User
from django.db import OperationalError, connection, connections
from django.test import Client

from approvals.models import Decision, Gate
from approvals.people import demo_people
from durable import runner, runs
from durable.checks import honest_database
from durable.models import LedgerEvent, Run
from local import keys
from local.throwaway import ThrowAway
from proof import worker
from proof.stage import SWEEPER, Stage
from tests.approvals.answering import answer
from tests.process import house
from tests.process.house import Ticket
from tests.process.proxy import Proxy
from tests.vendors import Vendor

pytestmark = pytest.mark.process
FORTY = [Decimal("40.00")]


@pytest.fixture(scope="module")
def services() -> Iterator[ThrowAway]:
    """A server and a broker for all of these tests, with the tables made."""
    found = ThrowAway.migrated(fsync=True)
    yield found
    found.stop()


@pytest.fixture
def server(services: ThrowAway, vendor: Vendor, transactional_db: None, settings: Any) -> Iterator[ThrowAway]:
    """This process speaks to that server; a lost lease ends in a second."""
    settings.LEASE_SECONDS = timedelta(seconds=1)
    with house.database(services.postgres.url()), house.broker(services.broker.url()):
        yield services


def admin(server: ThrowAway) -> psycopg.Connection:
    return psycopg.connect(server.postgres.url(keys.SUPERUSER), autocommit=True)


def drive(ticket: Ticket, *, seconds: float = 30.0) -> None:
    """Take a run to its end as workers would, over attempts that are lost."""

    def ended() -> bool:
        try:
            runner.drive(ticket.run.ref)
            return ticket.ended()
        except OperationalError:
            connection.close()
            return False

    house.until(ended, f"{ticket.name} to complete", seconds=seconds)


def once(ticket: Ticket, kind: str) -> int:
    return LedgerEvent.objects.filter(run_ref=ticket.run.ref, kind=kind).count()


# The answer to a commit is lost: nobody can tell whether it was done, so it is read again, and never done twice.

#: By what the statements of a run that commit by themselves are known: claim, intent, outcome, checkpoint, end.
COMMITS = (
    b"INSERT INTO durable_attempt",
    b"INSERT INTO durable_effect",
    b"SET state = 'applied'",
    b"INSERT INTO durable_checkpoint",
    b"SET state = 'completed'",
)


def test_a_commit_whose_answer_is_lost_is_found_done_and_not_done_again(
    server: ThrowAway, vendor: Vendor
) -> None:
    tickets = [Ticket(vendor, f"unheard-{n}").start() for n in range(len(COMMITS))]
    proxy = Proxy(server.postgres.port)
    there = connections["default"].settings_dict
    connection.close()
    there["PORT"] = proxy.port
    try:
        for marker, ticket in zip(COMMITS, tickets, strict=True):
            proxy.lose(marker, 1)
            drive(ticket)
    finally:
        connection.close()
        there["PORT"] = server.postgres.port
        proxy.close()

    assert proxy.lost == len(COMMITS)
    assert [ticket.moved() for ticket in tickets] == [FORTY] * 5
    assert [once(ticket, "intent") for ticket in tickets] == [1] * 5
    assert [once(ticket, "applied") + once(ticket, "adopted") for ticket in tickets] == [1] * 5


def test_a_start_whose_answer_is_lost_is_one_run_when_it_is_repeated(server: ThrowAway) -> None:
    proxy = Proxy(server.postgres.port)
    there = connections["default"].settings_dict
    connection.close()
    there["PORT"] = proxy.port
    given = {"order": "8812", "wants": "money"}
    try:
        proxy.lose(b"INSERT INTO durable_run", 1)
        with pytest.raises(OperationalError):
            runs.start("RefundDesk", given, actor="tests", key="ticket-1")
        connection.close()
        again = runs.start("RefundDesk", given, actor="tests", key="ticket-1")
    finally:
        connection.close()
        there["PORT"] = server.postgres.port
        proxy.close()

    assert proxy.lost == 1
    started = Run.objects.filter(start_key="ticket-1")
    assert list(started.values_list("ref", flat=True)) == [again.ref]


# The server stands still.


@contextmanager
def stopped(server: ThrowAway) -> Iterator[None]:
    """Every process of the server stands still for the block."""
    assert server.postgres.process is not None
    first = psutil.Process(server.postgres.process.pid)
    family = [first, *first.children(recursive=True)]
    for one in family:
        one.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        for one in reversed(family):
            one.send_signal(signal.SIGCONT)


def test_while_the_database_stands_still_no_vendor_is_asked_and_no_page_says_saved(
    on: Stage, server: ThrowAway, vendor: Vendor
) -> None:
    on.settings |= {"DATABASE_URL": server.postgres.url(), "CELERY_BROKER_URL": server.broker.url()}
    on.settings["LEASE_SECONDS"] = "3"
    gated = Ticket(vendor, "gated", paid="184.50").start()
    runner.drive(gated.run.ref)
    browser, form = house.signed_in(gated)
    tickets = [Ticket(vendor, f"still-{n}").start() for n in range(4)]
    on.start(worker.command("runs", "patient"))
    on.start(SWEEPER)
    house.until(lambda: any(t.sent() or t.ended() for t in tickets), "the worker to be busy", on.said)

    connections.close_all()
    with stopped(server):
        time.sleep(1)  # what was on the wire has arrived
        before = len(vendor.requests("POST"))
        page = browser.post(*form)
        assert page.status_code == 503
        assert b"does not answer" in page.content
        time.sleep(1)
        assert len(vendor.requests("POST")) == before

    for ticket in tickets:
        house.until(ticket.ended, f"{ticket.name} to complete", on.said)
    assert [ticket.moved() for ticket in tickets] == [FORTY] * 4
    assert once(gated, "approved") == 0
    assert browser.post(*form).status_code == 303
    assert once(gated, "approved") == 1


# No connection is left.


def test_without_a_free_connection_a_page_says_so_in_time_and_a_run_waits_its_turn(
    server: ThrowAway, vendor: Vendor
) -> None:
    ticket = Ticket(vendor, "crowded").start()
    demo_people()
    browser = Client(raise_request_exception=False)
    browser.force_login(User.objects.get(username="marta"))
    connections.close_all()
    with admin(server) as above:
        above.execute(f"ALTER ROLE {keys.APPLICATION} CONNECTION LIMIT 3")
        held = [psycopg.connect(server.postgres.url()) for _ in range(3)]
        began = time.monotonic()
        page = browser.get("/")
        assert (page.status_code, page["Retry-After"]) == (503, "5")
        ready = browser.get("/readyz")
        assert ready.status_code == 503
        assert time.monotonic() - began < 10
        driven = attempted(lambda: runner.drive(ticket.run.ref))
        assert driven in (False, "OperationalError")
        assert vendor.requests("POST") == []
        for one in held:
            one.close()
        house.until(lambda: connections_of(above) == 0, "the held connections to be gone")
        above.execute(f"ALTER ROLE {keys.APPLICATION} CONNECTION LIMIT -1")

    drive(ticket)
    assert ticket.moved() == FORTY


def connections_of(above: psycopg.Connection) -> int:
    """How many connections the application has."""
    counted = above.execute("SELECT count(*) FROM pg_stat_activity WHERE usename = %s", [keys.APPLICATION])
    (number,) = counted.fetchone() or (0,)
    return int(number)


def attempted(act: Callable[[], Any]) -> Any:
    """What an act returns, or the name of the error that it ends with."""
    try:
        return act()
    except Exception as error:
        connection.close()
        return type(error).__name__


# Locks and time limits.


def test_a_statement_that_waits_for_too_long_is_given_up_whole_and_done_later(
    server: ThrowAway, vendor: Vendor
) -> None:
    ticket = Ticket(vendor, "locked").start()
    with admin(server) as above:
        above.execute(f"ALTER ROLE {keys.APPLICATION} SET statement_timeout = '300ms'")
        connection.close()
        with psycopg.connect(server.postgres.url(keys.SUPERUSER)) as other:
            other.execute("SELECT 1 FROM durable_budget WHERE id = %s FOR UPDATE", [ticket.run.budget_id])
            other.execute(
                "SELECT 1 FROM durable_purse WHERE budget_id = %s FOR UPDATE", [ticket.run.budget_id]
            )
            attempted(lambda: runner.drive(ticket.run.ref))
            assert not ticket.ended()
            assert once(ticket, "intent") == 0  # it reserves money, which is locked: nothing of it stands
            assert vendor.requests("POST") == []
        above.execute(f"ALTER ROLE {keys.APPLICATION} RESET statement_timeout")
    connection.close()

    drive(ticket)
    assert ticket.moved() == FORTY
    assert once(ticket, "intent") == 1


def test_a_decision_that_loses_a_deadlock_leaves_nothing_and_is_given_again(
    server: ThrowAway, vendor: Vendor
) -> None:
    ticket = Ticket(vendor, "tangled", paid="184.50").start()
    runner.drive(ticket.run.ref)
    demo_people()
    marta, gate = User.objects.get(username="marta"), Gate.objects.get(effect__run=ticket.run)
    with psycopg.connect(server.postgres.url(keys.SUPERUSER)) as other:
        other.execute("SET deadlock_timeout = '20s'")  # so that the decision is the one that gives way
        other.execute("SELECT 1 FROM approvals_gate WHERE id = %s FOR UPDATE", [gate.pk])
        wants = "SELECT 1 FROM durable_run WHERE id = %s FOR UPDATE"
        crossing = threading.Thread(target=lambda: (time.sleep(0.5), other.execute(wants, [ticket.run.pk])))
        crossing.start()
        lost = attempted(lambda: answer(marta, gate))
        crossing.join()
        other.rollback()
    assert lost == "OperationalError"
    answers = Decision.objects.filter(gate=gate)
    assert (answers.count(), once(ticket, "approved")) == (0, 0)

    answer(marta, gate)
    drive(ticket)
    assert ticket.moved() == [Decimal("184.50")]
    assert (answers.count(), once(ticket, "approved")) == (1, 1)


# Its settings.


def test_a_server_that_waits_for_its_disk_is_not_warned_of(server: ThrowAway) -> None:
    assert honest_database(None, databases=["default"]) == []
