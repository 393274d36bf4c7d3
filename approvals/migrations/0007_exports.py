"""Files that people take out of the ledger and the log: who has asked for which, how far each is, and until when."""

import django.db.models.deletion
import durable.models.fields
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('approvals', '0006_acts'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Export',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('of', models.TextField()),
                ('query', models.TextField(default='')),
                ('form', models.TextField()),
                ('zone', models.TextField()),
                ('state', models.TextField(default='asked')),
                ('asked_at', models.DateTimeField(db_default=durable.models.fields.Clock())),
                ('claim', models.IntegerField(default=0)),
                ('lease_until', models.DateTimeField(null=True)),
                ('rows', models.BigIntegerField(default=0)),
                ('total', models.BigIntegerField(null=True)),
                ('file', models.TextField(default='')),
                ('bytes', models.BigIntegerField(default=0)),
                ('manifest', models.JSONField(default=dict)),
                ('ended_at', models.DateTimeField(null=True)),
                ('expires_at', models.DateTimeField(null=True)),
                ('words', models.TextField(default='')),
                ('person', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='exports', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'default_permissions': (),
                'indexes': [models.Index(fields=['person', '-id'], name='export_of_person'), models.Index(condition=models.Q(('state__in', ['asked', 'being made'])), fields=['id'], name='export_under_way'), models.Index(condition=models.Q(('state', 'made')), fields=['expires_at'], name='export_expires')],
                'constraints': [models.CheckConstraint(condition=models.Q(('state__in', ['asked', 'being made', 'made', 'stopped', 'failed', 'expired', 'deleted'])), name='export_state_known'), models.CheckConstraint(condition=models.Q(('form__in', ['csv', 'jsonl', 'bundle'])), name='export_form_known'), models.CheckConstraint(condition=models.Q(models.Q(('state', 'made'), _negated=True), models.Q(('expires_at__isnull', False), models.Q(('file', ''), _negated=True)), _connector='OR'), name='export_made_expires')],
            },
        ),
    ]
