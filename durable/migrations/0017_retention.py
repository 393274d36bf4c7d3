"""The policy of retention, what has gone by it, and the one way in which events of the ledger may go."""

from __future__ import annotations

from typing import ClassVar

import django.db.models.deletion
from django.db import migrations, models
from django.db.models import F, Q

import durable.models.fields

KINDS = ("checkpoints", "frozen", "messages", "payloads")
REAL = Q()
OUTLIVES = Q()
for _name in (*KINDS, "ledger"):
    REAL &= Q(**{_name: None}) | Q(**{f"{_name}__range": (1, 36525)})
for _name in KINDS:
    OUTLIVES &= Q(**{f"{_name}__isnull": False, f"{_name}__lt": F("ledger")})

#: What is in force until somebody says otherwise: as it was before there were policies.
FIRST = """
INSERT INTO durable_retentionpolicy (checkpoints, frozen, actor, at) VALUES (7, 7, 'interlock', clock_timestamp())
"""

# Each is asked once a statement, however many rows go by it.
GO = """
CREATE FUNCTION durable_gone() RETURNS bigint LANGUAGE sql STABLE SET search_path = pg_catalog, public AS $$
    SELECT coalesce((
        SELECT substring(statement FROM E'\\ngone: ([0-9]{1,18})\\n')::bigint FROM durable_root
        WHERE statement LIKE 'interlock-cut-%' ORDER BY number DESC LIMIT 1
    ), 0)
$$;
CREATE FUNCTION durable_go_by_cut() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, public AS $$
BEGIN
    IF EXISTS (SELECT FROM gone WHERE id > durable_gone()) THEN
        RAISE EXCEPTION 'the ledger only grows: only events that a signed cut covers may go'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF EXISTS (SELECT FROM gone WHERE at > clock_timestamp() - interval '366 days') THEN
        RAISE EXCEPTION 'the ledger is kept for twelve months at least' USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF EXISTS (SELECT FROM gone g JOIN durable_run r ON r.ref = g.run_ref
               JOIN durable_heldrun h ON h.run_id = r.id) THEN
        RAISE EXCEPTION 'what is under a legal hold does not go' USING ERRCODE = 'insufficient_privilege';
    END IF;
    RETURN NULL;
END $$;
-- The application may not delete events; it may ask the owner to, and the trigger has the last word.
CREATE FUNCTION durable_let_events_go(ids bigint[]) RETURNS void LANGUAGE sql SECURITY DEFINER
SET search_path = pg_catalog, public AS $$
    DELETE FROM durable_ledgerevent WHERE id = ANY(ids)
$$;
DROP TRIGGER only_grows ON durable_ledgerevent;
CREATE TRIGGER only_grows BEFORE UPDATE ON durable_ledgerevent
    FOR EACH ROW EXECUTE FUNCTION durable_refuse_change();
CREATE TRIGGER goes_by_cut AFTER DELETE ON durable_ledgerevent REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION durable_go_by_cut();
ALTER TABLE durable_ledgerevent ENABLE ALWAYS TRIGGER only_grows;
ALTER TABLE durable_ledgerevent ENABLE ALWAYS TRIGGER goes_by_cut;

CREATE TRIGGER only_grows BEFORE UPDATE OR DELETE ON durable_retentionpolicy
    FOR EACH ROW EXECUTE FUNCTION durable_refuse_change();
CREATE TRIGGER never_emptied BEFORE TRUNCATE ON durable_retentionpolicy
    FOR EACH STATEMENT EXECUTE FUNCTION durable_refuse_change();
ALTER TABLE durable_retentionpolicy ENABLE ALWAYS TRIGGER only_grows;
ALTER TABLE durable_retentionpolicy ENABLE ALWAYS TRIGGER never_emptied;
"""
STAY = """
DROP TRIGGER never_emptied ON durable_retentionpolicy;
DROP TRIGGER only_grows ON durable_retentionpolicy;
DROP TRIGGER goes_by_cut ON durable_ledgerevent;
DROP TRIGGER only_grows ON durable_ledgerevent;
CREATE TRIGGER only_grows BEFORE UPDATE OR DELETE ON durable_ledgerevent
    FOR EACH ROW EXECUTE FUNCTION durable_refuse_change();
ALTER TABLE durable_ledgerevent ENABLE ALWAYS TRIGGER only_grows;
DROP FUNCTION durable_let_events_go(bigint[]);
DROP FUNCTION durable_go_by_cut();
DROP FUNCTION durable_gone();
"""


def _id() -> models.BigAutoField:
    return models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")


class Migration(migrations.Migration):
    dependencies: ClassVar = [("durable", "0016_vendor_statements")]

    operations: ClassVar = [
        migrations.CreateModel(
            name="RetentionPolicy",
            fields=[
                ("id", _id()),
                *((name, models.IntegerField(null=True)) for name in (*KINDS, "ledger")),
                ("actor", models.TextField()),
                ("at", models.DateTimeField(db_default=durable.models.fields.Clock())),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(condition=REAL, name="retention_days_real"),
                    models.CheckConstraint(
                        condition=Q(ledger=None) | Q(ledger__gte=366), name="retention_ledger_floor"
                    ),
                    models.CheckConstraint(
                        condition=Q(ledger=None) | OUTLIVES, name="retention_ledger_outlives_all"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="RetentionPass",
            fields=[
                ("id", _id()),
                ("day", models.DateField(unique=True)),
                ("begun_at", models.DateTimeField(db_default=durable.models.fields.Clock())),
                ("asked_at", models.DateTimeField(db_default=durable.models.fields.Clock())),
                ("ended_at", models.DateTimeField(null=True)),
                *((name, models.BigIntegerField(default=0)) for name in ("runs", *KINDS, "events", "effects")),
                ("trouble", models.TextField(default="")),
                (
                    "policy",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="passes",
                        to="durable.retentionpolicy",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Stored",
            fields=[
                ("id", _id()),
                ("day", models.DateField()),
                ("kind", models.TextField()),
                ("bytes", models.BigIntegerField()),
                ("rows", models.BigIntegerField()),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=["day", "kind"], name="stored_once_a_day")],
            },
        ),
        migrations.AddIndex(
            "root",
            models.Index(
                condition=Q(statement__startswith="interlock-cut-"), fields=["-number"], name="root_that_cuts"
            ),
        ),
        migrations.RunSQL(FIRST, migrations.RunSQL.noop),
        migrations.RunSQL(GO, STAY),
    ]
