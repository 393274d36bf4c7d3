"""A function by which a statement sees the stop orders as they are at this very moment.

A statement sees other tables as they were when it began, though it may have waited for a row's lock since. A volatile
function looks anew: asked once the lock is held, it knows of an order that was given during the wait.
"""

from __future__ import annotations

from typing import ClassVar

from django.db import migrations

STOPPED = """
CREATE FUNCTION durable_stopped(agent text, tool text) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN EXISTS (
        SELECT FROM public.durable_stop s
        WHERE s.lifted_at IS NULL AND (s.scope = 'all' OR s.scope = 'agent' AND s.name = agent
                                       OR s.scope = 'tool' AND s.name = tool)
    );
END $$;
"""


class Migration(migrations.Migration):
    dependencies: ClassVar = [("durable", "0024_erasures_beside")]

    operations: ClassVar = [migrations.RunSQL(STOPPED, "DROP FUNCTION durable_stopped(text, text)")]
