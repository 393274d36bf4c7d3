"""What a restore from a backup leaves behind: the recovery itself, and what it may have made the ledger forget."""

from __future__ import annotations

from typing import ClassVar

import django.db.models.deletion
from django.db import migrations, models

import durable.models.fields


class Migration(migrations.Migration):

    dependencies: ClassVar = [
        ('durable', '0002_guards'),
    ]

    operations: ClassVar = [
        migrations.CreateModel(
            name='Recovery',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('since', models.DateTimeField()),
                ('at', models.DateTimeField(db_default=durable.models.fields.Clock())),
                ('actor', models.TextField()),
                ('reason', models.TextField()),
                ('last_run', models.BigIntegerField(default=0)),
                ('unknown', models.JSONField(default=list)),
                ('done_at', models.DateTimeField(null=True)),
            ],
        ),
        migrations.AddField(
            model_name='effect',
            name='forgotten_since',
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name='run',
            name='forgotten_since',
            field=models.DateTimeField(null=True),
        ),
        migrations.AddIndex(
            model_name='effect',
            index=models.Index(condition=models.Q(('forgotten_since__isnull', False)), fields=['forgotten_since'], name='effect_forgotten'),
        ),
        migrations.AddField(
            model_name='recovery',
            name='stop',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='durable.stop'),
        ),
        migrations.AddField(
            model_name='run',
            name='recovery',
            field=models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='runs', to='durable.recovery'),
        ),
    ]
