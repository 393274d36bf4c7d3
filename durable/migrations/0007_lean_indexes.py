"""An effect's own indexes, fewer: what nearly every effect comes to be, or hardly any is, needs no entry for each."""

from __future__ import annotations

from typing import ClassVar

from django.contrib.postgres.indexes import BrinIndex
from django.contrib.postgres.operations import AddIndexConcurrently, RemoveIndexConcurrently
from django.db import migrations, models
from django.db.models import Q

#: `receipt_once`, in the order in which a receipt alone finds it too; at no moment is there none.
RECEIPT = """
CREATE UNIQUE INDEX CONCURRENTLY receipt_once_new ON durable_effect ({columns})
WHERE receipt_id <> '' AND undo_of_id IS NULL
"""
IN_ITS_PLACE = """
DO $$ BEGIN
    DROP INDEX receipt_once;
    ALTER INDEX receipt_once_new RENAME TO receipt_once;
END $$
"""
_CONDITION = ~Q(receipt_id="") & Q(undo_of=None)


def _receipt(*fields: str) -> models.UniqueConstraint:
    return models.UniqueConstraint(fields=fields, condition=_CONDITION, name="receipt_once")


class Migration(migrations.Migration):
    atomic = False  # effects go on being recorded while an index is built

    dependencies: ClassVar = [("durable", "0006_lean_rows")]

    operations: ClassVar = [
        migrations.SeparateDatabaseAndState(
            database_operations=[
                migrations.RunSQL(
                    [RECEIPT.format(columns="receipt_id, vendor"), IN_ITS_PLACE],
                    [RECEIPT.format(columns="vendor, receipt_id"), IN_ITS_PLACE],
                )
            ],
            state_operations=[
                migrations.RemoveConstraint("effect", "receipt_once"),
                migrations.AddConstraint("effect", _receipt("receipt_id", "vendor")),
            ],
        ),
        AddIndexConcurrently(
            "effect",
            models.Index(
                fields=["receipt_id"],
                name="effect_undo_receipt",
                condition=~Q(receipt_id="") & Q(undo_of__isnull=False),
            ),
        ),
        RemoveIndexConcurrently("effect", "effect_by_receipt"),
        AddIndexConcurrently(
            "effect",
            models.Index(
                fields=["state", "-id"], name="effect_not_applied", condition=~Q(state="applied")
            ),
        ),
        RemoveIndexConcurrently("effect", "effect_by_state"),
        AddIndexConcurrently(
            "effect",
            models.Index(
                fields=["linked_from"], name="effect_linked", condition=Q(linked_from__isnull=False)
            ),
        ),
        AddIndexConcurrently(
            "effect",
            models.Index(fields=["undo_of"], name="effect_undo", condition=Q(undo_of__isnull=False)),
        ),
        AddIndexConcurrently(
            "effect", BrinIndex(fields=["recorded_at"], name="effect_recorded", autosummarize=True)
        ),
        RemoveIndexConcurrently("effect", "effect_by_time"),
        AddIndexConcurrently("subject", models.Index(fields=["hash", "run"], name="subject_of_run")),
        RemoveIndexConcurrently("subject", "subject_hash"),
    ]
