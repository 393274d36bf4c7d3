"""Who makes a statement is killed by a real SIGKILL at every beat: there is the whole of it, or nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest
from django.db import connection

from durable.models import Difference, StatementTotal, Unexplained, VendorStatement
from durable.vendor_statements import requests
from tests.engine import desk, stated
from tests.engine.stated import ACTOR, DAY, midnight, past_us
from tests.vendors import Vendor, vendor, vendor_process

__all__ = ["vendor", "vendor_process"]

pytestmark = [pytest.mark.process, pytest.mark.django_db(transaction=True)]

_DIES = """
import os, signal, sys, django
django.setup()
from durable import faults
from durable.vendor_statements import requests
faults.arm(sys.argv[1], lambda: os.kill(os.getpid(), signal.SIGKILL))
requests.attempt(int(sys.argv[2]))
"""
POINTS = (
    "statement.before_call", "statement.after_call", "listed.before_commit", "listed.after_commit",
    "account.before_commit", "account.after_commit",
)  # fmt: skip


def test_a_maker_killed_at_any_beat_leaves_nothing_or_the_whole_and_the_next_makes_it(vendor: Vendor) -> None:
    env = {**os.environ, "DJANGO_SETTINGS_MODULE": "durable.settings", **vendor.environment()}
    asked = {}
    for back, point in enumerate(POINTS, start=1):
        past_us(vendor, stated.noon(back))
        asked[point] = requests.ask("stripe", "", midnight(back), midnight(back) + DAY, **ACTOR).pk
    makers = {
        point: subprocess.Popen([sys.executable, "-c", _DIES, point, str(number)], env=env)
        for point, number in asked.items()
    }
    assert {point: maker.wait(300) for point, maker in makers.items()} == dict.fromkeys(POINTS, -9)

    whole = asked["account.after_commit"]
    assert list(VendorStatement.objects.values_list("pk", flat=True)) == [whole]
    assert all(set(rows) == {whole} for rows in parts())
    desk.until(lambda: left_behind() == [])  # the server notices that its clients are gone
    for number in requests.due():
        assert requests.attempt(number) is not None
    assert [sorted(rows) for rows in parts()] == [sorted(asked.values())] * 3


def parts() -> list[list[Any]]:
    """Of which statements there are differences, totals, and differences to explain."""
    models = (Difference, StatementTotal, Unexplained)
    return [list(one._default_manager.values_list("statement", flat=True)) for one in models]


def left_behind() -> list[tuple[str]]:
    """What sessions have set aside or hold on to, in which a statement is being made."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT relname::text FROM pg_class WHERE relname IN ('interlock_listed', 'interlock_held')"
            " UNION ALL SELECT locktype FROM pg_locks WHERE locktype = 'advisory'"
        )
        return list(cursor.fetchall())
