"""Bodies are read in no parallel plan: PostgreSQL 15 opens no subtransaction there, and catching an error needs one."""

from __future__ import annotations

from typing import ClassVar

from django.db import migrations


class Migration(migrations.Migration):
    dependencies: ClassVar = [("durable", "0027_bodies_read_whatever_they_hold")]

    operations: ClassVar = [
        migrations.RunSQL(
            "ALTER FUNCTION durable_body(text) PARALLEL UNSAFE", "ALTER FUNCTION durable_body(text) PARALLEL SAFE"
        )
    ]
