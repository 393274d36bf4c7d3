"""Effects are found by their amount."""

from __future__ import annotations

from typing import ClassVar

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    atomic = False  # effects go on being recorded while the index is built

    dependencies: ClassVar = [("durable", "0012_summary")]

    operations: ClassVar = [
        AddIndexConcurrently(
            "effect",
            models.Index(
                fields=["currency", "amount_minor", "id"],
                name="effect_by_amount",
                condition=Q(amount_minor__isnull=False),
            ),
        ),
    ]
