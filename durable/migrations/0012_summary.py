"""What auditors search by and sum up: written after the fact by the indexer, which begins at the oldest event."""

from __future__ import annotations

from typing import ClassVar

import django.db.models.deletion
from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import migrations, models


def _id() -> models.BigAutoField:
    return models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")


class Migration(migrations.Migration):
    dependencies: ClassVar = [("durable", "0011_act_indexes")]

    operations: ClassVar = [
        migrations.AddField("effect", "reason", models.TextField(default="", db_default="")),
        migrations.CreateModel(
            name="EffectGroup",
            fields=[
                ("id", _id()),
                ("likeness", models.TextField(unique=True)),
                ("tool", models.TextField()),
                ("vendor", models.TextField()),
                ("agent", models.TextField()),
                ("currency", models.TextField()),
                ("state", models.TextField()),
                ("undo", models.BooleanField()),
                ("undone", models.BooleanField()),
                ("reason", models.TextField()),
                ("deciders", ArrayField(models.TextField())),
                ("number", models.BigIntegerField(default=0)),
                ("minor", models.DecimalField(max_digits=40, decimal_places=0, default=0)),
            ],
        ),
        migrations.CreateModel(
            name="EffectCell",
            fields=[
                ("id", _id()),
                ("block", models.BigIntegerField()),
                (
                    "group",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="cells",
                        to="durable.effectgroup",
                    ),
                ),
                ("hour", models.DateTimeField()),
                ("number", models.IntegerField()),
                ("minor", models.DecimalField(max_digits=40, decimal_places=0)),
                ("first", models.BigIntegerField()),
                ("last", models.BigIntegerField()),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=["block", "group", "hour"], name="effect_cell_once")
                ],
                "indexes": [models.Index(fields=["group", "-hour", "-block"], name="effect_cell_by_hour")],
            },
        ),
        migrations.CreateModel(
            name="SubjectName",
            fields=[
                ("id", _id()),
                ("kind", models.TextField()),
                ("hash", models.TextField(unique=True)),
                ("grams", ArrayField(models.IntegerField())),
                ("box", models.BinaryField()),
            ],
            options={"indexes": [GinIndex(fields=["grams"], name="subject_name_grams")]},
        ),
        migrations.CreateModel(
            name="Indexed",
            fields=[
                ("id", models.IntegerField(primary_key=True, default=1, serialize=False)),
                ("done", models.BigIntegerField(default=0)),
                ("mark", models.BigIntegerField(default=0)),
                ("transaction", models.BigIntegerField(default=0)),
            ],
        ),
        migrations.RunSQL(
            "INSERT INTO durable_indexed (id, done, mark, transaction) VALUES (1, 0, 0, 0)", migrations.RunSQL.noop
        ),
    ]
