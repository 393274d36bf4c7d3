"""How often a sign-in was tried, for the throttle."""

from __future__ import annotations

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [("approvals", "0009_retention")]

    operations: ClassVar = [
        migrations.CreateModel(
            name="SignInTry",
            fields=[
                ("key", models.TextField(primary_key=True, serialize=False)),
                ("until", models.DateTimeField()),
                ("tries", models.IntegerField(default=1)),
            ],
            options={
                "default_permissions": (),
                "indexes": [models.Index(fields=["until"], name="sign_in_try_until")],
            },
        ),
    ]
