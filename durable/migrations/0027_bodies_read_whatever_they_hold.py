"""A function that reads the body of an event as JSON, and as a text in quotes where it is none.

Bodies are JSON as long as nobody has gone past the guards. One that was changed by the database's superuser is for
`verify` to name; no page, file or statement may fail because of it.
"""

from __future__ import annotations

from typing import ClassVar

from django.db import migrations

READ = """
CREATE FUNCTION durable_body(body text) RETURNS json LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
BEGIN
    RETURN body::json;
EXCEPTION WHEN invalid_text_representation OR statement_too_complex THEN
    RETURN to_json(body);
END $$;
"""


class Migration(migrations.Migration):
    dependencies: ClassVar = [("durable", "0026_skips_found_by_run")]

    operations: ClassVar = [migrations.RunSQL(READ, "DROP FUNCTION durable_body(text)")]
