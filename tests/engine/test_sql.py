"""The short way of hand-written statements gives what Django's cursor gives."""

from __future__ import annotations

import pytest
from django.db import IntegrityError, OperationalError, connection, transaction
from django.db.transaction import TransactionManagementError
from django.test.utils import CaptureQueriesContext

from durable.sql import answer, answers, count

pytestmark = pytest.mark.django_db(transaction=True)

ECHO = "SELECT %(word)s::text, %(number)s::int + 1, %(word)s::text LIKE 'a%%'"


def test_a_name_is_sent_once_however_often_it_stands_and_a_doubled_percent_sign_is_one() -> None:
    assert answer(ECHO, {"word": "abc", "number": 1, "not in it": object()}) == ("abc", 2, True)
    with CaptureQueriesContext(connection):
        assert answer(ECHO, {"word": "abc", "number": 1}) == ("abc", 2, True)


def test_whoever_listens_hears_of_it() -> None:
    with CaptureQueriesContext(connection) as heard:
        answer("SELECT %(one)s::int", {"one": 1})
        answers("SELECT %(one)s::int", {"one": 1})
    assert len(heard) == 2


def test_all_rows_or_their_number_come_back() -> None:
    assert answers("SELECT n FROM generate_series(1, %(last)s::int) n", {"last": 3}) == [(1,), (2,), (3,)]
    assert answer("SELECT 1 WHERE %(no)s", {"no": False}) is None
    assert count("UPDATE durable_stop SET reason = reason WHERE %(all)s", {"all": True}) == 0


def test_errors_are_djangos_and_a_broken_transaction_takes_nothing_more() -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        answer("INSERT INTO durable_branch (id, base_count) VALUES (%(id)s, NULL)", {"id": 1})
    with transaction.atomic():
        transaction.set_rollback(True)
        with pytest.raises(TransactionManagementError):
            answer("SELECT %(one)s::int", {"one": 1})


def test_a_connection_that_the_server_has_ended_is_told_and_opened_again() -> None:
    answer("SELECT %(one)s::int", {"one": 1})
    with pytest.raises(OperationalError):
        answer("SELECT pg_terminate_backend(pg_backend_pid(), %(wait)s)", {"wait": 0})
    connection.close_if_unusable_or_obsolete()
    assert answer("SELECT %(one)s::int", {"one": 1}) == (1,)
