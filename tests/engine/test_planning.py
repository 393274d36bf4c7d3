"""What the server goes by when it plans what is asked of it."""

from __future__ import annotations

import psycopg
import pytest
from django.db import connection, connections
from psycopg.conninfo import make_conninfo

from durable.settings import database
from tests.engine import agents

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "owner"])

_SHARES = (
    "SELECT attname, n_distinct FROM pg_stats WHERE tablename = 'durable_ledgerevent' AND n_distinct < 0"
)


@pytest.mark.parametrize(
    ("pool", "mode", "helpers"), [(8, "force_custom_plan", "0"), (0, "auto", "2")], ids=["page", "worker"]
)
def test_a_page_s_question_is_planned_for_its_values_and_answered_alone_and_a_worker_s_planned_once(
    pool: int, mode: str, helpers: str
) -> None:
    asked = database("postgresql://app@127.0.0.1/interlock", pool=pool, persistent=not pool)["OPTIONS"]
    connection.ensure_connection()
    info = connection.connection.info
    here = make_conninfo(info.dsn, password=info.password, options=asked["options"])
    with psycopg.connect(here) as wire:
        assert wire.execute("SHOW plan_cache_mode").fetchone() == (mode,)
        assert wire.execute("SHOW max_parallel_workers_per_gather").fetchone() == (helpers,)
        assert wire.execute("SHOW jit").fetchone() == ("off" if pool else "on",)


def test_the_server_expects_few_events_of_an_effect_and_of_a_run_however_together_they_lie() -> None:
    agents.start("Looper")
    with connections["owner"].cursor() as cursor:
        cursor.execute("ANALYZE durable_ledgerevent")
        cursor.execute(_SHARES)
        shares = dict(cursor.fetchall())
    assert shares["effect_key"] == pytest.approx(-0.25)
    assert shares["run_ref"] == pytest.approx(-0.05)
