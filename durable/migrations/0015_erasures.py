"""Erasures of a person's data: who asked for which, and what has become of each run."""

from __future__ import annotations


import django.contrib.postgres.fields
import django.contrib.postgres.indexes
import django.db.models.deletion
import durable.models.fields
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('durable', '0014_legal_holds'),
    ]

    operations = [
        migrations.CreateModel(
            name='Erasure',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kinds', django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), size=None)),
                ('hashes', django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), size=None)),
                ('reason', models.TextField()),
                ('reference', models.TextField(default='')),
                ('actor', models.TextField()),
                ('asked_at', models.DateTimeField(db_default=durable.models.fields.Clock())),
                ('due_at', models.DateTimeField(db_default=durable.models.fields.Clock(), null=True)),
                ('done_at', models.DateTimeField(null=True)),
            ],
            options={
                'indexes': [django.contrib.postgres.indexes.GinIndex(fields=['hashes'], name='erasure_of_subject'), models.Index(condition=models.Q(('done_at', None)), fields=['due_at'], name='erasure_due')],
                'constraints': [models.CheckConstraint(condition=models.Q(('reason__in', ['the person asked for it', 'no longer needed', 'should not have been kept', 'an authority ordered it'])), name='erasure_reason_known')],
            },
        ),
        migrations.CreateModel(
            name='ErasureRun',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('state', models.TextField(default='waiting')),
                ('why', models.TextField(default='')),
                ('at', models.DateTimeField(null=True)),
                ('took', models.JSONField(default=dict)),
                ('erasure', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='runs', to='durable.erasure')),
                ('run', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='erasures', to='durable.run')),
            ],
            options={
                'indexes': [models.Index(fields=['erasure', 'state', 'id'], name='erasure_by_state')],
                'constraints': [models.CheckConstraint(condition=models.Q(('state__in', ['waiting', 'erased', 'left'])), name='erasure_run_state_known'), models.UniqueConstraint(fields=('erasure', 'run'), name='erasure_run_once')],
            },
        ),
    ]
