"""What a person's yes asks of the database, with a limit so that it can't creep up."""

from __future__ import annotations

import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests import factories
from tests.approvals.answering import answer

pytestmark = pytest.mark.django_db

#: Where the gate stands; run, wait, effect, and the gate with the person and what opens its payload; what they may; who
#: had a hand in it; the clock; the answer, sealed; what it moves, and the event that says so.
MOST = 16


def test_a_yes_reads_each_row_once_under_its_lock_and_nothing_of_what_it_has_just_written() -> None:
    alice, gate = factories.person("alice"), factories.gate()
    with CaptureQueriesContext(connection) as asked:
        answer(alice, gate)
    said = [
        " ".join(query["sql"].replace('"', "").split()) for query in asked if "SAVEPOINT" not in query["sql"]
    ]
    assert len(said) <= MOST, "\n".join(said)
    for table in ("durable_run", "durable_wait", "durable_effect", "approvals_gate"):
        [locked] = [one for one in said if "FOR UPDATE" in one and f"FROM {table} " in one]
        later = said[said.index(locked) + 1 :]
        assert not [one for one in later if re.match(rf"SELECT \S+\.id, .* FROM {table}\b", one)]
