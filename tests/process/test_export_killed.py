"""A worker is killed in the middle of an export; another one makes it anew, and no half file is ever given out."""

from __future__ import annotations

import csv
import stat
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.db import connection, transaction

from approvals.exports import orders
from approvals.models import Export
from durable.models import Effect, LedgerEvent
from local.process import kill_group
from proof import worker
from proof.stage import Stage
from tests import factories
from tests.process import house
from tests.process.test_bulk_killed import BEAT, PATIENCE

pytestmark = pytest.mark.process


def test_a_worker_killed_in_the_middle_of_an_export_leaves_no_half_file_and_another_makes_it_whole(
    on: Stage, settings: Any, tmp_path: Path
) -> None:
    folder = tmp_path / "exports"
    settings.INTERLOCK_EXPORTS = on.settings["INTERLOCK_EXPORTS"] = str(folder)
    on.settings["LEASE_SECONDS"] = "3"
    rita = User.objects.create_user("rita")
    rita.groups.add(Group.objects.get(name="auditor"))
    for _ in range(3):
        factories.gate()
    outside, before = (orders.order(rita, "ledger", "", form) for form in ("csv", "jsonl"))
    # The first dies while it reads, with its file begun; the next before it commits that a file is whole.
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("LOCK TABLE durable_effect IN ACCESS EXCLUSIVE MODE")
        dying = on.start(worker.command("bulk", "dies-outside"))

        def begun() -> bool:
            cursor.execute("SELECT 1")  # or the server would end a transaction that rests
            return bool(list(folder.glob("*.part")))

        house.until(begun, "a file to be begun", on.said, PATIENCE)
        kill_group(dying.pid)
        dying.wait(house.PATIENCE)
    for export in (outside, before):
        orders.announce(export.pk)
    dying = on.start(worker.command("bulk", "dies-inside", die="command.before_commit:2"))
    house.until(lambda: dying.poll() is not None, "the worker to die", on.said, PATIENCE)
    assert not Export.objects.filter(state="made").exists()

    on.start(BEAT)
    on.start(worker.command("bulk", "survivor"))

    def over() -> bool:
        return Export.objects.filter(state="made").count() == 2 and len(list(folder.iterdir())) == 2

    house.until(over, "both files to be made, and what the dead have left to go", on.said, PATIENCE)
    for export in Export.objects.all():
        file = folder / export.file
        assert stat.S_IMODE(file.stat().st_mode) == 0o600 and file.stat().st_size == export.bytes
        assert export.rows == Effect.objects.count() == 3
        kinds = (
            LedgerEvent.objects.filter(run_ref=f"export:{export.pk}")
            .order_by("id")
            .values_list("kind", flat=True)
        )
        assert list(kinds) == ["export asked", "export made"]
    with (folder / Export.objects.get(form="csv").file).open(encoding="utf-8-sig", newline="") as rows:
        assert [row["key"] for row in csv.DictReader(rows)] == list(
            Effect.objects.order_by("pk").values_list("key", flat=True)
        )
