"""How the server plans what a process asks of it."""

from __future__ import annotations

import psycopg
import pytest
from django.db import connection
from psycopg.conninfo import make_conninfo

from durable.settings import database

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(("pool", "mode"), [(8, "force_custom_plan"), (0, "auto")], ids=["page", "worker"])
def test_what_a_page_asks_is_planned_for_its_values_and_what_a_worker_asks_once(pool: int, mode: str) -> None:
    asked = database("postgresql://app@127.0.0.1/interlock", pool=pool, persistent=not pool)["OPTIONS"]
    connection.ensure_connection()
    info = connection.connection.info
    here = make_conninfo(info.dsn, password=info.password, options=asked["options"])
    with psycopg.connect(here) as wire:
        assert wire.execute("SHOW plan_cache_mode").fetchone() == (mode,)
