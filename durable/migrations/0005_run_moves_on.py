"""A run that only moves on touches none of its indexes: what a step's end writes stands in no index any more."""

from __future__ import annotations

from typing import ClassVar

from django.contrib.postgres.operations import AddIndexConcurrently, RemoveIndexConcurrently
from django.db import migrations, models

#: Room in each page for the next version of a row that is there.
ROOM = "ALTER TABLE durable_run SET (fillfactor = 80)"
NO_ROOM = "ALTER TABLE durable_run RESET (fillfactor)"


class Migration(migrations.Migration):
    atomic = False  # runs go on being driven while an index is built

    dependencies: ClassVar = [("durable", "0004_run_ended")]

    operations: ClassVar = [
        AddIndexConcurrently(
            model_name="run",
            index=models.Index(
                fields=["id"],
                name="run_active",
                condition=models.Q(("state__in", ["running", "failing", "cancelling", "compensating"])),
            ),
        ),
        RemoveIndexConcurrently(model_name="run", name="run_leased"),
        migrations.RunSQL(ROOM, NO_ROOM),
    ]
