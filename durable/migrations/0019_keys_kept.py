"""Which runs still have their payloads, the oldest first: none of them lets the ledger's periods go."""

from __future__ import annotations

from typing import ClassVar

from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    dependencies: ClassVar = [("durable", "0018_own_tables_first")]

    operations: ClassVar = [
        migrations.AddIndex(
            "sealkey", models.Index(condition=Q(wrapped__isnull=False), fields=["run"], name="seal_key_kept")
        ),
    ]
