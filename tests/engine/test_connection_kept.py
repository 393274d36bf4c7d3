"""A worker keeps its connection from one run to the next, and finds out first when it has broken."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from celery.fixups.django import DjangoWorkerFixup  # type: ignore[attr-defined]  # its types are of an older one
from django.db import connection

from durable import tasks
from durable.celery import app
from durable.states import RunState
from tests.engine import agents, desk

pytestmark = pytest.mark.django_db(transaction=True)


def backend() -> int:
    """The server's process behind this connection."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        return int(cursor.fetchone()[0])


def test_a_worker_keeps_its_connection_from_one_run_to_the_next() -> None:
    around, before = DjangoWorkerFixup(app), backend()
    for _ in range(3):
        task = SimpleNamespace(request=SimpleNamespace(is_eager=False))
        around.on_task_prerun(task)
        tasks.drive(agents.start("Looper").ref)
        around.on_task_postrun(task)
    assert backend() == before


def test_a_connection_that_broke_while_nothing_was_to_do_is_replaced_before_a_run_is_claimed() -> None:
    run, broken = agents.start("Looper"), backend()

    def break_it() -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_terminate_backend(%s, 10000)", [broken])

    desk.meanwhile(break_it)
    tasks.drive(run.ref)
    run.refresh_from_db()
    assert (run.state, run.attempt) == (RunState.COMPLETED, 1)
    assert backend() != broken
