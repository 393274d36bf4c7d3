"""An erasure above a limit takes two people: who agreed, or took it back, and that nothing is due before."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('durable', '0019_keys_kept'),
    ]

    operations = [
        migrations.AddField(
            model_name='erasure',
            name='agreed_at',
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name='erasure',
            name='agreed_by',
            field=models.TextField(db_default='', default=''),
        ),
        migrations.AddField(
            model_name='erasure',
            name='second',
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.AddField(
            model_name='erasure',
            name='withdrawn_at',
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name='erasure',
            name='withdrawn_by',
            field=models.TextField(db_default='', default=''),
        ),
        migrations.AddConstraint(
            model_name='erasure',
            constraint=models.CheckConstraint(condition=models.Q(('second', False), models.Q(('done_at', None), ('due_at', None)), models.Q(models.Q(('agreed_by', ''), _negated=True), models.Q(('agreed_by', models.F('actor')), _negated=True)), _connector='OR'), name='erasure_by_two'),
        ),
        migrations.AddConstraint(
            model_name='erasure',
            constraint=models.CheckConstraint(condition=models.Q(('withdrawn_at', None), models.Q(('done_at', None), ('due_at', None)), _connector='OR'), name='erasure_withdrawn_rests'),
        ),
    ]
