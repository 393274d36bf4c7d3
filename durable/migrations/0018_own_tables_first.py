"""What the guards read are the product's own tables. Temporary ones of the same name come first wherever a path does not
name them, and whoever may make these could write what a guard reads, or have their own code run with the owner's rights.
"""

from __future__ import annotations

from typing import ClassVar

from django.db import migrations

_SET = """
DO $$
DECLARE
    one regprocedure;
BEGIN
    FOR one IN
        SELECT p.oid FROM pg_proc p, unnest(p.proconfig) c
        WHERE p.pronamespace = 'public'::regnamespace AND p.proname LIKE '{app}\\_%' AND c LIKE 'search\\_path=%'
    LOOP
        EXECUTE format('ALTER FUNCTION %s SET search_path = {path}', one);
    END LOOP;
END $$;
"""


def looks_last(app: str) -> migrations.RunSQL:
    """Let the functions of an app look for temporary tables last."""
    return migrations.RunSQL(
        _SET.format(app=app, path="pg_catalog, public, pg_temp"),
        _SET.format(app=app, path="pg_catalog, public"),
    )


class Migration(migrations.Migration):
    dependencies: ClassVar = [("durable", "0017_retention")]

    operations: ClassVar = [looks_last("durable")]
