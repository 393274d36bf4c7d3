"""What the application's role may do: add to the ledger, never change it; and what lets events of it go, which only the
owner says. The owner's role is for `migrate` alone.
"""

from __future__ import annotations

from django.db.backends.base.base import BaseDatabaseWrapper


def grant_application(connection: BaseDatabaseWrapper, role: str) -> None:
    """Give `role` what the application needs on the owner's tables, and take away the rest. May run again at will.

    `connection` is the owner's. Ledger rows: read and add. What only the owner and the database's triggers write, and
    the record of migrations: read. All else: read and write, never TRUNCATE.
    """
    from durable.models import APPEND_ONLY_TABLES, OWNERS_TABLES

    quote = connection.ops.quote_name
    name = quote(role)
    with connection.cursor() as cursor:
        cursor.execute(f"GRANT USAGE ON SCHEMA public TO {name}")
        cursor.execute(f"REVOKE ALL ON ALL TABLES IN SCHEMA public FROM {name}")
        cursor.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {name}")
        cursor.execute(f"GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA public TO {name}")
        for table in APPEND_ONLY_TABLES:
            cursor.execute(f"REVOKE UPDATE, DELETE ON {quote(table)} FROM {name}")
        for table in (*OWNERS_TABLES, "django_migrations"):
            cursor.execute(f"REVOKE INSERT, UPDATE, DELETE ON {quote(table)} FROM {name}")


def name_keys(connection: BaseDatabaseWrapper) -> None:
    """Tell the database whose signatures let events go: this process's key and INTERLOCK_PUBLIC_KEYS, and no others.

    `connection` is the owner's. Where this process knows no key, what the database knows stays.
    """
    from durable.roots import signing

    keys = sorted(signing.trusted())
    with connection.cursor() as cursor:
        cursor.execute("SELECT to_regclass('public.durable_signkey')")
        (there,) = cursor.fetchone()
        if there is None or not keys:
            return
        cursor.execute("DELETE FROM durable_signkey WHERE key <> ALL(%s)", [keys])
        cursor.execute("INSERT INTO durable_signkey SELECT unnest(%s::text[]) ON CONFLICT DO NOTHING", [keys])
        cursor.execute("SELECT durable_accept_cuts()")
