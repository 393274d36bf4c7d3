"""Which runs ended before a moment: pruning asks it."""

from __future__ import annotations

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [("durable", "0003_restores")]

    operations: ClassVar = [
        migrations.AddIndex(
            model_name="run",
            index=models.Index(
                fields=["ended_at"], name="run_ended", condition=models.Q(("ended_at__isnull", False))
            ),
        ),
    ]
