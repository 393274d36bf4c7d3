"""How many different values columns have that are written run by run.

The server looks at a sample of pages. What belongs to one run or effect lies together, so it finds many times too few
different values there, expects many times too many rows of each, and reads a whole index to save itself looking them
up: with ten million effects, 184 events for each instead of three. Said as a share of the rows, it stays true as the
table grows.
"""

from __future__ import annotations

from typing import ClassVar

from django.db import migrations

#: Different values for each row: one in so many rows has a value of its own.
SHARES = {
    ("durable_ledgerevent", "effect_key"): -0.25,
    ("durable_ledgerevent", "run_ref"): -0.05,
    ("durable_sealed", "run_id"): -0.1,
    ("durable_message", "branch_id"): -0.1,
    ("durable_effect", "run_id"): -0.2,
    ("durable_subject", "run_id"): -0.2,
}


def _alter(action: str) -> str:
    return "\n".join(
        f"ALTER TABLE {table} ALTER COLUMN {column} {action.format(share)};"
        for (table, column), share in SHARES.items()
    )


class Migration(migrations.Migration):
    dependencies: ClassVar = [("durable", "0021_cuts_are_signed")]

    operations: ClassVar = [
        migrations.RunSQL(_alter("SET (n_distinct = {})"), _alter("RESET (n_distinct)")),
        # It counts from the next look on.
        migrations.RunSQL(
            f"ANALYZE {', '.join(f'{table} ({column})' for table, column in SHARES)}",
            migrations.RunSQL.noop,
        ),
    ]
