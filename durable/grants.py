"""What the application's role may do: add to the ledger, never change it. The owner's role is for `migrate` alone."""

from __future__ import annotations

from django.db.backends.base.base import BaseDatabaseWrapper


def grant_application(connection: BaseDatabaseWrapper, role: str) -> None:
    """Give `role` what the application needs on the owner's tables, and take away the rest. May run again at will.

    `connection` is the owner's. Ledger rows: read and add. The record of migrations: read. All else: read and write,
    never TRUNCATE.
    """
    from durable.models import APPEND_ONLY_TABLES

    quote = connection.ops.quote_name
    name = quote(role)
    with connection.cursor() as cursor:
        cursor.execute(f"GRANT USAGE ON SCHEMA public TO {name}")
        cursor.execute(f"REVOKE ALL ON ALL TABLES IN SCHEMA public FROM {name}")
        cursor.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {name}")
        cursor.execute(f"GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA public TO {name}")
        for table in APPEND_ONLY_TABLES:
            cursor.execute(f"REVOKE UPDATE, DELETE ON {quote(table)} FROM {name}")
        cursor.execute(f"REVOKE INSERT, UPDATE, DELETE ON {quote('django_migrations')} FROM {name}")
