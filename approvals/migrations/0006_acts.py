"""People, roles and rights: whatever changes them, the database logs it, one act for each of them and statement.

So nothing passes by: no bulk update, no list action, no shell, no statement by hand. What is logged of a person are their
name in the ledger and what decides about their rights; of an address, a name or a password only that it changed.
"""

from __future__ import annotations

from typing import ClassVar

from django.db import migrations, models

from approvals.capabilities import PERMISSIONS

PERSON = r"""
CREATE FUNCTION approvals_changed(old jsonb, new jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, public AS $$
    SELECT coalesce(jsonb_object_agg(key, value), '{}') FROM jsonb_each(old) WHERE new -> key IS DISTINCT FROM value
$$;
CREATE FUNCTION approvals_person(one auth_user) RETURNS jsonb LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, public AS $$
    SELECT jsonb_build_object('username', one.username, 'is_active', one.is_active, 'is_staff', one.is_staff,
        'is_superuser', one.is_superuser)
$$;
CREATE FUNCTION approvals_log_person() RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog, public AS $$
DECLARE
    before jsonb := '{}';
    after jsonb := '{}';
BEGIN
    IF TG_OP = 'INSERT' THEN
        PERFORM durable_log_act('person:' || NEW.id, 'person added',
            jsonb_build_object('name', NEW.username, 'before', before, 'after', approvals_person(NEW)));
    ELSIF TG_OP = 'DELETE' THEN
        PERFORM durable_log_act('person:' || OLD.id, 'person removed',
            jsonb_build_object('name', OLD.username, 'before', approvals_person(OLD), 'after', after));
    ELSE
        before := approvals_changed(approvals_person(OLD), approvals_person(NEW));
        after := approvals_changed(approvals_person(NEW), approvals_person(OLD));
        IF NEW.password <> OLD.password THEN
            after := after || '{"password": "stored anew"}';
        END IF;
        IF NEW.email <> OLD.email THEN
            after := after || '{"email": "changed"}';
        END IF;
        IF (NEW.first_name, NEW.last_name) <> (OLD.first_name, OLD.last_name) THEN
            after := after || '{"full name": "changed"}';
        END IF;
        IF NEW.id <> OLD.id THEN
            after := after || jsonb_build_object('id', NEW.id);
        END IF;
        IF before <> after THEN
            PERFORM durable_log_act('person:' || OLD.id, 'person changed',
                jsonb_build_object('name', OLD.username, 'before', before, 'after', after));
        END IF;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER log_person AFTER INSERT OR UPDATE OR DELETE ON auth_user
    FOR EACH ROW EXECUTE FUNCTION approvals_log_person();
"""

ROLE = r"""
CREATE FUNCTION approvals_log_role() RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog, public AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        PERFORM durable_log_act('role:' || NEW.id, 'role added', jsonb_build_object('name', NEW.name,
            'before', '{}'::jsonb, 'after', jsonb_build_object('name', NEW.name)));
    ELSIF TG_OP = 'DELETE' THEN
        PERFORM durable_log_act('role:' || OLD.id, 'role removed', jsonb_build_object('name', OLD.name,
            'before', jsonb_build_object('name', OLD.name), 'after', '{}'::jsonb));
    ELSIF (NEW.id, NEW.name) <> (OLD.id, OLD.name) THEN
        PERFORM durable_log_act('role:' || OLD.id, 'role changed', jsonb_build_object('name', OLD.name,
            'before', jsonb_build_object('id', OLD.id, 'name', OLD.name),
            'after', jsonb_build_object('id', NEW.id, 'name', NEW.name)));
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER log_role AFTER INSERT OR UPDATE OR DELETE ON auth_group
    FOR EACH ROW EXECUTE FUNCTION approvals_log_role();

-- A right that nobody holds gives nothing: that one is added needs no word. One that is renamed becomes another.
CREATE FUNCTION approvals_log_right() RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog, public AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        PERFORM durable_log_act('right:' || OLD.id, 'right removed', jsonb_build_object('name', OLD.codename,
            'before', jsonb_build_object('codename', OLD.codename, 'of', OLD.content_type_id), 'after', '{}'::jsonb));
    ELSIF (NEW.id, NEW.codename, NEW.content_type_id) <> (OLD.id, OLD.codename, OLD.content_type_id) THEN
        PERFORM durable_log_act('right:' || OLD.id, 'right changed', jsonb_build_object('name', OLD.codename,
            'before', jsonb_build_object('id', OLD.id, 'codename', OLD.codename, 'of', OLD.content_type_id),
            'after', jsonb_build_object('id', NEW.id, 'codename', NEW.codename, 'of', NEW.content_type_id)));
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER log_right AFTER UPDATE OR DELETE ON auth_permission
    FOR EACH ROW EXECUTE FUNCTION approvals_log_right();
"""

NAMES = r"""
CREATE FUNCTION approvals_role_names(ids bigint[]) RETURNS jsonb LANGUAGE sql STABLE
SET search_path = pg_catalog, public AS $$
    SELECT coalesce(jsonb_agg(coalesce(g.name, 'role ' || t.id) ORDER BY coalesce(g.name, 'role ' || t.id) COLLATE "C"), '[]')
    FROM unnest(ids) AS t (id) LEFT JOIN auth_group g ON g.id = t.id
$$;
CREATE FUNCTION approvals_right_names(ids bigint[]) RETURNS jsonb LANGUAGE sql STABLE
SET search_path = pg_catalog, public AS $$
    SELECT coalesce(jsonb_agg(n.name ORDER BY n.name COLLATE "C"), '[]')
    FROM (SELECT coalesce(c.app_label || '.' || p.codename, 'right ' || t.id) AS name FROM unnest(ids) AS t (id)
        LEFT JOIN auth_permission p ON p.id = t.id LEFT JOIN django_content_type c ON c.id = p.content_type_id) n
$$;
"""

# Of what one statement gives and takes, one act for each who has it now or had it before: all that they had, and all
# that they have. They come in the order of their numbers, so that no two statements wait for each other.
HOLDINGS = r"""
CREATE FUNCTION approvals_log_<table>_<op>() RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog, public AS $$
DECLARE
    moved record;
    held bigint[];
    had bigint[];
BEGIN
    FOR moved IN
        SELECT owner, coalesce(array_agg(thing) FILTER (WHERE NOT arrived), '{}')::bigint[] AS gone,
            coalesce(array_agg(thing) FILTER (WHERE arrived), '{}')::bigint[] AS come
        FROM (<moved>) m GROUP BY owner ORDER BY owner
    LOOP
        held := ARRAY(SELECT <thing> FROM <table> WHERE <owner> = moved.owner);
        had := moved.gone || ARRAY(SELECT unnest(held) EXCEPT SELECT unnest(moved.come));
        PERFORM durable_log_act('<kind>:' || moved.owner, '<plural> changed', jsonb_build_object(
            'name', (SELECT <called> FROM <owners> WHERE id = moved.owner),
            'before', jsonb_build_object('<plural>', <names>(had)),
            'after', jsonb_build_object('<plural>', <names>(held))));
    END LOOP;
    RETURN NULL;
END $$;
CREATE TRIGGER log_<op> AFTER <op> ON <table> REFERENCING <seen>
    FOR EACH STATEMENT EXECUTE FUNCTION approvals_log_<table>_<op>();
ALTER TABLE <table> ENABLE ALWAYS TRIGGER log_<op>;
"""
UNHOLD = """
DROP TRIGGER log_<op> ON <table>;
DROP FUNCTION approvals_log_<table>_<op>();
"""
_GONE = "SELECT <owner> AS owner, <thing> AS thing, false AS arrived FROM gone"
_COME = "SELECT <owner> AS owner, <thing> AS thing, true AS arrived FROM come"
#: By what is done: what of it is seen, under which names.
MOVES = {
    "insert": (_COME, "NEW TABLE AS come"),
    "delete": (_GONE, "OLD TABLE AS gone"),
    "update": (f"{_GONE} UNION ALL {_COME}", "OLD TABLE AS gone NEW TABLE AS come"),
}
_PERSON = {"kind": "person", "owners": "auth_user", "called": "username", "owner": "user_id"}
_ROLE = {"kind": "role", "owners": "auth_group", "called": "name", "owner": "group_id"}
_ROLES = {"thing": "group_id", "plural": "roles", "names": "approvals_role_names"}
_RIGHTS = {"thing": "permission_id", "plural": "rights", "names": "approvals_right_names"}
TABLES = {
    "auth_user_groups": _PERSON | _ROLES,
    "auth_user_user_permissions": _PERSON | _RIGHTS,
    "auth_group_permissions": _ROLE | _RIGHTS,
}


def _each(text: str) -> str:
    """The text for each table and whatever is done to its rows."""
    made = []
    for table, words in TABLES.items():
        for op, (moved, seen) in MOVES.items():
            one = text.replace("<moved>", moved)
            for name, word in {**words, "table": table, "op": op, "seen": seen}.items():
                one = one.replace(f"<{name}>", word)
            made.append(one)
    return "".join(made)


ALWAYS = "".join(
    f"ALTER TABLE {table} ENABLE ALWAYS TRIGGER {trigger};\n"
    for table, trigger in (("auth_user", "log_person"), ("auth_group", "log_role"), ("auth_permission", "log_right"))
)
EMPTIED = r"""
CREATE FUNCTION approvals_refuse_emptying() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'each change of people, roles and rights is logged: % of % is refused, delete rows instead',
        lower(TG_OP), TG_TABLE_NAME USING ERRCODE = 'insufficient_privilege';
END $$;
""" + "".join(
    f"CREATE TRIGGER never_emptied BEFORE TRUNCATE ON {table}\n"
    "    FOR EACH STATEMENT EXECUTE FUNCTION approvals_refuse_emptying();\n"
    f"ALTER TABLE {table} ENABLE ALWAYS TRIGGER never_emptied;\n"
    for table in ("auth_user", "auth_group", "auth_permission", *TABLES)
)
UNDO = """
DROP FUNCTION approvals_refuse_emptying() CASCADE;
DROP FUNCTION approvals_right_names(bigint[]);
DROP FUNCTION approvals_role_names(bigint[]);
DROP FUNCTION approvals_log_right() CASCADE;
DROP FUNCTION approvals_log_role() CASCADE;
DROP FUNCTION approvals_log_person() CASCADE;
DROP FUNCTION approvals_person(auth_user);
DROP FUNCTION approvals_changed(jsonb, jsonb);
"""


class Migration(migrations.Migration):
    dependencies: ClassVar = [
        ("approvals", "0005_bulk_seen"),
        ("durable", "0010_acts"),
        ("auth", "0012_alter_user_first_name_max_length"),
    ]

    operations: ClassVar = [
        migrations.AlterModelOptions("gate", {"default_permissions": (), "permissions": PERMISSIONS}),
        migrations.CreateModel(
            name="Tried",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False, auto_created=True, verbose_name="ID")),
                ("key", models.TextField()),
                ("until", models.DateTimeField()),
                ("listed", models.IntegerField()),
                ("seen", models.IntegerField(default=1)),
                ("actor", models.TextField()),
                ("about", models.TextField()),
                ("concerns", models.TextField(default="")),
                ("body", models.JSONField(default=dict)),
            ],
            options={
                "default_permissions": (),
                "constraints": [models.UniqueConstraint(fields=["key", "until"], name="tried_once_per_while")],
                "indexes": [models.Index(fields=["until"], name="tried_until")],
            },
        ),
        migrations.RunSQL(PERSON + ROLE + ALWAYS + NAMES + EMPTIED, UNDO),
        migrations.RunSQL(_each(HOLDINGS), _each(UNHOLD)),
    ]
