"""The log of acts outside of runs: what the database needs to write into it by itself, and the keys of its words."""

from __future__ import annotations

from typing import ClassVar

import django.db.models.deletion
from django.db import migrations, models
from django.db.models import Q

# RFC 8785 for what acts hold: objects, lists, texts, booleans, whole numbers. Names are ASCII, so their bytes give the
# order of their UTF-16 units.
CANONICAL = r"""
CREATE FUNCTION durable_canonical(value jsonb) RETURNS text LANGUAGE plpgsql IMMUTABLE
SET search_path = pg_catalog, public AS $$
BEGIN
    CASE jsonb_typeof(value)
    WHEN 'object' THEN
        RETURN '{' || coalesce((SELECT string_agg(to_json(e.key)::text || ':' || durable_canonical(e.value), ','
            ORDER BY e.key COLLATE "C") FROM jsonb_each(value) e), '') || '}';
    WHEN 'array' THEN
        RETURN '[' || coalesce((SELECT string_agg(durable_canonical(e.value), ',' ORDER BY e.place)
            FROM jsonb_array_elements(value) WITH ORDINALITY AS e (value, place)), '') || ']';
    WHEN 'string' THEN
        RETURN to_json(value #>> '{}')::text;
    ELSE
        RETURN value::text;
    END CASE;
END $$;
"""

# Whoever calls this acts: by the name that the session has given, or as the role that signed in to the database, which
# is noted beside the name in any case. An act with a reason is remembered until that is sealed.
LOG = r"""
CREATE FUNCTION durable_actor() RETURNS text LANGUAGE sql STABLE SET search_path = pg_catalog, public AS $$
    SELECT replace(coalesce(nullif(current_setting('interlock.actor', true), ''),
        'database role ' || session_user), E'\n', ' ')
$$;
CREATE FUNCTION durable_log_act(about text, what text, facts jsonb) RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, public AS $$
DECLARE
    words text := nullif(current_setting('interlock.words', true), '');
    made bigint;
BEGIN
    facts := facts || jsonb_build_object('role', session_user);
    IF words IS NOT NULL THEN
        facts := facts || jsonb_build_object('words', words);
    END IF;
    INSERT INTO durable_ledgerevent (run_ref, kind, effect_key, actor, body)
    VALUES (about, what, '', durable_actor(), durable_canonical(facts)) RETURNING id INTO made;
    IF words IS NOT NULL THEN
        PERFORM set_config('interlock.made',
            concat_ws(',', nullif(current_setting('interlock.made', true), ''), made), true);
    END IF;
END $$;
"""
UNLOG = """
DROP FUNCTION durable_log_act(text, text, jsonb);
DROP FUNCTION durable_actor();
"""


class Migration(migrations.Migration):
    dependencies: ClassVar = [("durable", "0009_roots")]

    operations: ClassVar = [
        migrations.RunSQL(CANONICAL, "DROP FUNCTION durable_canonical(jsonb)"),
        migrations.RunSQL(LOG, UNLOG),
        migrations.CreateModel(
            name="ActKey",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False, auto_created=True, verbose_name="ID")),
                ("chain", models.TextField()),
                ("wrapped", models.BinaryField(null=True)),
                ("destroyed_at", models.DateTimeField(null=True)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=["chain"], condition=Q(destroyed_at=None), name="act_key_once_per_chain"
                    )
                ]
            },
        ),
        migrations.CreateModel(
            name="ActWords",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False, auto_created=True, verbose_name="ID")),
                ("digest", models.TextField()),
                ("box", models.BinaryField()),
                ("event", models.OneToOneField(
                    "durable.ledgerevent", django.db.models.deletion.PROTECT, related_name="act_words")),
                ("key", models.ForeignKey(
                    "durable.actkey", django.db.models.deletion.PROTECT, related_name="+", db_index=False)),
            ],
        ),
    ]
