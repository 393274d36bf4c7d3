"""Statements of vendors: what is asked for, what was found, and what people have explained of it."""

from __future__ import annotations

from typing import ClassVar

import django.contrib.postgres.fields
import django.db.models.deletion
from django.db import migrations, models
from django.db.models import F, Q

import durable.models.fields

DIFFERENT = ["at the vendor alone", "in the ledger alone", "amounts differ", "currencies differ", "another receipt", "not applied with us", "in doubt with us"]

EVIDENCE = ("durable_vendorstatement", "durable_statementtotal", "durable_difference", "durable_explanation")
REFUSE = "".join(
    f"""
CREATE TRIGGER only_grows BEFORE UPDATE OR DELETE ON {table}
    FOR EACH ROW EXECUTE FUNCTION durable_refuse_change();
CREATE TRIGGER never_emptied BEFORE TRUNCATE ON {table}
    FOR EACH STATEMENT EXECUTE FUNCTION durable_refuse_change();
ALTER TABLE {table} ENABLE ALWAYS TRIGGER only_grows;
ALTER TABLE {table} ENABLE ALWAYS TRIGGER never_emptied;
"""
    for table in EVIDENCE
)
ALLOW = "".join(f"DROP TRIGGER never_emptied ON {table}; DROP TRIGGER only_grows ON {table};" for table in EVIDENCE)

CLOCK = durable.models.fields.Clock()
PROTECT = django.db.models.deletion.PROTECT


def number() -> models.BigAutoField:
    return models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")


class Migration(migrations.Migration):
    dependencies: ClassVar = [("durable", "0015_erasures")]

    operations: ClassVar = [
        migrations.CreateModel(
            name="StatementRequest",
            fields=[
                ("id", number()),
                ("vendor", models.TextField()),
                ("account", models.TextField(default="")),
                ("start", models.DateTimeField()),
                ("end", models.DateTimeField()),
                ("asked_by", models.TextField(default="")),
                ("asked_at", models.DateTimeField(db_default=CLOCK)),
                ("due_at", models.DateTimeField(db_default=CLOCK, null=True)),
                ("tries", models.IntegerField(default=0)),
                ("trouble", models.TextField(default="")),
                ("failing_since", models.DateTimeField(null=True)),
            ],
            options={
                "indexes": [
                    models.Index(condition=Q(due_at__isnull=False), fields=["due_at"], name="statement_due"),
                ],
                "constraints": [
                    models.CheckConstraint(condition=Q(start__lt=F("end")), name="statement_period"),
                    models.UniqueConstraint(
                        condition=Q(asked_by=""),
                        fields=("vendor", "account", "start", "end"),
                        name="statement_scheduled_once",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="VendorStatement",
            fields=[
                ("request", models.OneToOneField(
                    on_delete=PROTECT, primary_key=True, related_name="statement", serialize=False,
                    to="durable.statementrequest")),
                ("vendor", models.TextField()),
                ("account", models.TextField()),
                ("start", models.DateTimeField()),
                ("end", models.DateTimeField()),
                ("tools", django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), size=None)),
                ("listed", models.BigIntegerField()),
                ("differences", models.BigIntegerField()),
                ("digest", models.TextField()),
                ("began_at", models.DateTimeField()),
                ("made_at", models.DateTimeField(db_default=CLOCK)),
            ],
            options={
                "indexes": [models.Index(fields=["vendor", "account", "-end"], name="statement_of_account")],
            },
        ),
        migrations.CreateModel(
            name="StatementTotal",
            fields=[
                ("id", number()),
                ("kind", models.TextField()),
                ("undo", models.BooleanField()),
                ("currency", models.TextField()),
                ("ledger_number", models.BigIntegerField()),
                ("ledger_minor", models.DecimalField(decimal_places=0, max_digits=40)),
                ("vendor_number", models.BigIntegerField()),
                ("vendor_minor", models.DecimalField(decimal_places=0, max_digits=40)),
                ("statement", models.ForeignKey(
                    db_index=False, on_delete=PROTECT, related_name="totals", to="durable.vendorstatement")),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=Q(kind__in=["in both", "beside the period", *DIFFERENT]), name="statement_total_kind_known"
                    ),
                    models.UniqueConstraint(
                        fields=("statement", "kind", "undo", "currency"), name="statement_total_once"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Difference",
            fields=[
                ("id", number()),
                ("kind", models.TextField()),
                ("effect_key", models.TextField()),
                ("undo", models.BooleanField()),
                ("receipt", models.TextField()),
                ("ledger_minor", models.BigIntegerField(null=True)),
                ("ledger_currency", models.TextField()),
                ("vendor_minor", models.BigIntegerField(null=True)),
                ("vendor_amount", models.TextField()),
                ("vendor_currency", models.TextField()),
                ("vendor_key", models.TextField()),
                ("target", models.TextField()),
                ("at", models.DateTimeField()),
                ("likeness", models.TextField()),
                ("effect", models.ForeignKey(
                    db_index=False, null=True, on_delete=PROTECT, related_name="+", to="durable.effect")),
                ("statement", models.ForeignKey(
                    db_index=False, on_delete=PROTECT, related_name="found", to="durable.vendorstatement")),
            ],
            options={
                "indexes": [
                    models.Index(fields=["statement", "-id"], name="difference_of_statement"),
                    models.Index(fields=["statement", "kind", "-id"], name="difference_of_kind"),
                ],
                "constraints": [
                    models.CheckConstraint(condition=Q(kind__in=DIFFERENT), name="difference_kind_known"),
                ],
            },
        ),
        migrations.CreateModel(
            name="Explanation",
            fields=[
                ("difference", models.OneToOneField(
                    on_delete=PROTECT, primary_key=True, related_name="+", serialize=False, to="durable.difference")),
                ("likeness", models.TextField(unique=True)),
                ("by", models.TextField()),
                ("at", models.DateTimeField(db_default=CLOCK)),
            ],
        ),
        migrations.CreateModel(
            name="Unexplained",
            fields=[
                ("difference", models.OneToOneField(
                    on_delete=PROTECT, primary_key=True, related_name="open", serialize=False,
                    to="durable.difference")),
                ("likeness", models.TextField(db_index=True)),
                ("statement", models.ForeignKey(
                    on_delete=PROTECT, related_name="open", to="durable.vendorstatement")),
            ],
        ),
        migrations.RunSQL(REFUSE, ALLOW),
    ]
