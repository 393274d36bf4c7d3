"""Each run of a bulk act names how it stood when the act was drafted.

What was drafted before can't say so. Drafts go: nothing was done by them. Runs that still wait for their turn refuse, and
their page offers to look at them again.
"""

from __future__ import annotations

from typing import ClassVar

from django.db import migrations, models

HOLD_BACK = """
SET CONSTRAINTS ALL IMMEDIATE;
DELETE FROM approvals_bulkresult WHERE bulk_id IN (SELECT id FROM approvals_bulkact WHERE state = 'drafted');
DELETE FROM approvals_bulkact WHERE state = 'drafted';
UPDATE approvals_bulkresult SET outcome = 'refused', at = clock_timestamp(),
    words = 'Interlock was updated before its turn, so nothing was done to it'
WHERE outcome = 'waiting';
"""


class Migration(migrations.Migration):
    dependencies: ClassVar = [("approvals", "0004_runs_and_bulk")]

    operations: ClassVar = [
        migrations.RunSQL(HOLD_BACK, migrations.RunSQL.noop),
        migrations.AddField("bulkresult", "seen", models.TextField(default=""), preserve_default=False),
    ]
