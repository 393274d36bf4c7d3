"""A permission for the page about workers, queues and versions; `roles.make_roles` gives it to new groups."""

from __future__ import annotations

from typing import ClassVar

from django.db import migrations

from approvals.capabilities import PERMISSIONS


class Migration(migrations.Migration):
    dependencies: ClassVar = [("approvals", "0002_guards")]

    operations: ClassVar = [
        migrations.AlterModelOptions("gate", {"default_permissions": (), "permissions": PERMISSIONS}),
    ]
