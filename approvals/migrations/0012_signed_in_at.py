"""When the person who decided had signed in. Of older decisions nobody knows any more."""

from __future__ import annotations

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [("approvals", "0011_own_tables_first")]

    operations: ClassVar = [
        migrations.AddField(
            model_name="decision", name="signed_in_at", field=models.DateTimeField(null=True)
        ),
    ]
