"""As in `durable`: what logs people and roles, and what keeps decisions, reads and writes the product's own tables."""

from __future__ import annotations

from importlib import import_module
from typing import ClassVar

from django.db import migrations

looks_last = import_module("durable.migrations.0018_own_tables_first").looks_last


class Migration(migrations.Migration):
    dependencies: ClassVar = [("approvals", "0010_sign_in_tries"), ("durable", "0018_own_tables_first")]

    operations: ClassVar = [looks_last("approvals")]
