"""In which time zone the days of a hold's search are meant: that of who set it. What stands already was resolved in the
installation's, and goes on so.
"""

from __future__ import annotations

from importlib import import_module
from typing import ClassVar

from django.db import migrations, models

_GUARD: str = import_module("durable.migrations.0014_legal_holds").GUARD
#: The guard as it was made first; the triggers that call it stay as they are.
_BEFORE = _GUARD.partition("CREATE TRIGGER")[0].replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION")
_FIRST = _BEFORE.replace("NEW.hash, NEW.actor", "NEW.hash, NEW.zone, NEW.actor")
#: The zone of a hold stays as it was set, as all else that says what it is about.
_AFTER = _FIRST.replace("OLD.hash, OLD.actor", "OLD.hash, OLD.zone, OLD.actor")


class Migration(migrations.Migration):
    dependencies: ClassVar = [("durable", "0022_statistics")]

    operations: ClassVar = [
        migrations.AddField(
            model_name="legalhold", name="zone", field=models.TextField(db_default="", default="")
        ),
        migrations.RunSQL(_AFTER, _BEFORE),
    ]
