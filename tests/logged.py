"""What the log of acts holds, for tests to look at."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg
from django.db import connection

from durable import vault
from durable.models import ACTS, LedgerEvent
from local.pytest_plugin import SHARED


@dataclass(frozen=True)
class Told:
    """One act, as it is stored; `said` are its words, where it is no act on a run."""

    kind: str
    actor: str
    about: str
    concerns: str
    body: dict[str, Any]
    said: str

    @property
    def change(self) -> tuple[Any, Any]:
        """What it changed: before, after."""
        return self.body.get("before"), self.body.get("after")


def told(*kinds: str, about: str = "") -> list[Told]:
    """The acts of these kinds (of all without any), on one object or all, the oldest first."""
    found = LedgerEvent.objects.filter(ACTS).order_by("id")
    if kinds:
        found = found.filter(kind__in=kinds)
    if about:
        found = found.filter(run_ref=about)
    return [
        Told(
            one.kind,
            one.actor,
            one.run_ref,
            one.effect_key,
            json.loads(one.body),
            "" if one.run_ref.startswith("run-") else vault.act_words(one),
        )
        for one in found
    ]


_FULL = """
CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'disk full'; END $$;
CREATE TRIGGER full_disk BEFORE INSERT ON durable_ledgerevent FOR EACH ROW EXECUTE FUNCTION full_disk();
"""


@contextmanager
def full() -> Iterator[None]:
    """The log takes nothing, as if the disk were full. For tests whose writes are committed."""
    url = str(json.loads(os.environ[SHARED])["admin"]).format(connection.settings_dict["NAME"])
    with psycopg.connect(url, autocommit=True) as opened:
        opened.execute(_FULL)
        try:
            yield
        finally:
            opened.execute("DROP FUNCTION full_disk() CASCADE")
