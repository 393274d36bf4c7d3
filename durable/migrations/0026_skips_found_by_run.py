"""Whether a run was ever skipped is one look into an index of few rows, however long the run."""

from __future__ import annotations

from typing import ClassVar

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    atomic = False  # runs go on writing while the index is built

    dependencies: ClassVar = [("durable", "0025_stop_orders_seen_after_a_wait")]

    operations: ClassVar = [
        AddIndexConcurrently(
            "checkpoint", models.Index(fields=["run"], name="checkpoint_skip", condition=Q(kind="skip"))
        ),
    ]
