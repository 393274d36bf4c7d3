"""Why people were asked once more no longer holds the facts that had changed, nor what a vendor said of them.

A gate's reason stands in clear, and an erasure leaves it. The event of the round has the same words, sealed. What stands
behind them, another run's same act, stays.
"""

from __future__ import annotations

from typing import ClassVar

from django.db import migrations

TAKE_OUT = r"""
UPDATE approvals_gate
SET reason = substring(reason FROM '^(what it rests on (?:has changed|can''t be read any more)): ')
    || coalesce(substring(reason FROM '(; run-[0-9a-z]+ has asked for the same already: \S+ is [a-z ]+)$'), '')
WHERE reason ~ '^what it rests on (has changed|can''t be read any more): '
"""


class Migration(migrations.Migration):
    dependencies: ClassVar = [("approvals", "0012_signed_in_at")]

    operations: ClassVar = [migrations.RunSQL(TAKE_OUT, migrations.RunSQL.noop)]
