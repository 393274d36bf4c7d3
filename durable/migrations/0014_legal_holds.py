"""Legal holds, and the view that says which runs are held by which of them."""

from __future__ import annotations

from typing import ClassVar

import django.db.models.deletion
from django.db import migrations, models
from django.db.models import Q

import durable.models.fields

#: What a search finds is kept in rows; runs and subjects are held by what they are, so that what comes later is too.
VIEW = """
CREATE VIEW durable_heldrun (run_id, hold_id) AS
    SELECT h.run_id, h.id FROM durable_legalhold h WHERE h.lifted_at IS NULL AND h.scope = 'run'
    UNION ALL
    SELECT s.run_id, h.id FROM durable_legalhold h JOIN durable_subject s ON s.hash = h.hash
    WHERE h.lifted_at IS NULL AND h.scope = 'subject'
    UNION ALL
    SELECT f.run_id, h.id FROM durable_legalhold h JOIN durable_foundrun f ON f.hold_id = h.id
    WHERE h.lifted_at IS NULL AND h.scope = 'search'
"""

GUARD = """
CREATE FUNCTION durable_guard_legal_hold() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP <> 'UPDATE' THEN
        RAISE EXCEPTION 'a legal hold is lifted, never deleted: % of % is refused', lower(TG_OP), TG_TABLE_NAME
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF (NEW.id, NEW.scope, NEW.run_id, NEW.kind, NEW.hash, NEW.actor, NEW.at)
       IS DISTINCT FROM (OLD.id, OLD.scope, OLD.run_id, OLD.kind, OLD.hash, OLD.actor, OLD.at)
       OR OLD.lifted_at IS NOT NULL
          AND (NEW.lifted_at, NEW.lifted_by) IS DISTINCT FROM (OLD.lifted_at, OLD.lifted_by) THEN
        RAISE EXCEPTION 'a legal hold stays as it was set, and is lifted once'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER only_lifted BEFORE UPDATE OR DELETE ON durable_legalhold
    FOR EACH ROW EXECUTE FUNCTION durable_guard_legal_hold();
CREATE TRIGGER never_emptied BEFORE TRUNCATE ON durable_legalhold
    FOR EACH STATEMENT EXECUTE FUNCTION durable_guard_legal_hold();
ALTER TABLE durable_legalhold ENABLE ALWAYS TRIGGER only_lifted;
ALTER TABLE durable_legalhold ENABLE ALWAYS TRIGGER never_emptied;
"""
UNGUARD = """
DROP TRIGGER never_emptied ON durable_legalhold;
DROP TRIGGER only_lifted ON durable_legalhold;
DROP FUNCTION durable_guard_legal_hold();
"""


def _id() -> models.BigAutoField:
    return models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")


class Migration(migrations.Migration):
    dependencies: ClassVar = [("durable", "0013_by_amount")]

    operations: ClassVar = [
        migrations.CreateModel(
            name="LegalHold",
            fields=[
                ("id", _id()),
                ("scope", models.TextField()),
                ("kind", models.TextField(default="")),
                ("hash", models.TextField(default="")),
                ("box", models.BinaryField()),
                ("actor", models.TextField()),
                ("at", models.DateTimeField(db_default=durable.models.fields.Clock())),
                ("lifted_by", models.TextField(default="")),
                ("lifted_at", models.DateTimeField(null=True)),
                ("found_at", models.DateTimeField(null=True)),
                ("trouble", models.TextField(default="")),
                (
                    "run",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="legal_holds",
                        to="durable.run",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=Q(lifted_at=None, scope="run"), fields=["run"], name="legal_hold_of_run"
                    ),
                    models.Index(
                        condition=Q(lifted_at=None, scope="subject"), fields=["hash"], name="legal_hold_of_subject"
                    ),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=Q(scope__in=["run", "subject", "search"]), name="legal_hold_scope_known"
                    ),
                    models.CheckConstraint(
                        condition=Q(scope="run", run__isnull=False, hash="")
                        | Q(scope="subject", run__isnull=True) & ~Q(hash="")
                        | Q(scope="search", run__isnull=True, hash=""),
                        name="legal_hold_about_one_thing",
                    ),
                    models.CheckConstraint(
                        condition=Q(lifted_at__isnull=True, lifted_by="")
                        | Q(lifted_at__isnull=False) & ~Q(lifted_by=""),
                        name="legal_hold_lifted_by_somebody",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="FoundRun",
            fields=[
                ("id", _id()),
                (
                    "hold",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="found",
                        to="durable.legalhold",
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="durable.run",
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=["run", "hold"], name="found_run_once")],
            },
        ),
        migrations.CreateModel(
            name="HeldRun",
            fields=[
                (
                    "run",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        primary_key=True,
                        related_name="+",
                        serialize=False,
                        to="durable.run",
                    ),
                ),
                (
                    "hold",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.DO_NOTHING, related_name="+", to="durable.legalhold"
                    ),
                ),
            ],
            options={"db_table": "durable_heldrun", "managed": False},
        ),
        migrations.RunSQL(VIEW, "DROP VIEW durable_heldrun"),
        migrations.RunSQL(GUARD, UNGUARD),
    ]
