"""What others than the engine keep of somebody who is erased goes with an erasure, unless a legal hold keeps their runs:
then it is remembered by its numbers until the hold is lifted. Of older erasures it went when they became due.
"""

from __future__ import annotations

from typing import ClassVar

from django.db import migrations, models

_GONE = """
UPDATE durable_erasure SET beside_at = coalesce(agreed_at, asked_at) WHERE due_at IS NOT NULL OR done_at IS NOT NULL
"""


class Migration(migrations.Migration):
    dependencies: ClassVar = [("durable", "0023_zones_of_holds")]

    operations: ClassVar = [
        migrations.AddField(model_name="erasure", name="beside", field=models.JSONField(null=True)),
        migrations.AddField(model_name="erasure", name="beside_at", field=models.DateTimeField(null=True)),
        migrations.RunSQL(_GONE, migrations.RunSQL.noop),
    ]
