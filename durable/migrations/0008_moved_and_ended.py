"""What the console sums and counts over long times stands in two more indexes; neither is touched by a step.

Both are built while everything goes on: readers and writers wait for nothing but one short lock each. An effect is
written into its one once, when it moved money (90 bytes of log), a run into its one once, at its end (130).
"""

from __future__ import annotations

from typing import ClassVar

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models
from django.db.models import Q

_ENDED = ["cancelled", "compensated", "completed", "failed", "partly compensated"]


class Migration(migrations.Migration):
    atomic = False  # runs and effects go on being recorded while an index is built

    dependencies: ClassVar = [("durable", "0007_lean_indexes")]

    operations: ClassVar = [
        AddIndexConcurrently(
            "effect",
            models.Index(
                fields=["settled_at"],
                include=["currency", "amount_minor"],
                name="effect_moved",
                condition=Q(state="applied", undo_of=None, amount_minor__isnull=False),
            ),
        ),
        AddIndexConcurrently(
            "run",
            models.Index(
                fields=["agent", "state", "-id"], name="run_ended_by_agent", condition=Q(state__in=_ENDED)
            ),
        ),
    ]
