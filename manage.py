#!/usr/bin/env python
"""The command line. A wrong setting ends here as one line and exit code 2."""

from __future__ import annotations

import os
import sys
from contextlib import AbstractContextManager, nullcontext

#: Commands that start services of their own where the environment names none, and stop them at their end.
WITH_OWN_SERVICES = {"story"}
#: Commands that run without a database or a broker, or bring their own.
WITHOUT_SERVICES = {"up", "prove", "check", "collectstatic", "help", "makemigrations", "version"}
#: Commands that make the tables, or show them as they are.
WITHOUT_TABLES = {"migrate", "showmigrations", "sqlmigrate", "dbshell"}


def main() -> int:
    """Run the command in `sys.argv`; return the exit code."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "durable.settings")
    try:
        import django
        from django.core.exceptions import ImproperlyConfigured
        from django.core.management import execute_from_command_line
    except ImportError:
        print("Django is not installed here: run `make up`, or activate .venv.", file=sys.stderr)
        return 2
    command = next((word for word in sys.argv[1:] if not word.startswith("-")), "help")
    asks_help = bool({"-h", "--help"} & set(sys.argv))
    try:
        with own_services() if command in WITH_OWN_SERVICES and not asks_help else nullcontext():
            # Read the settings first: Django would report a bad one only at the end of a tale of its own.
            import durable.settings  # noqa: F401  # for its errors alone
            from durable.checks import require_seal_key, require_services

            if command not in WITHOUT_SERVICES and not asks_help:
                require_services()
            if command not in WITHOUT_SERVICES | WITHOUT_TABLES and not asks_help:
                django.setup()
                require_seal_key()
            execute_from_command_line(sys.argv)
    except ImproperlyConfigured as error:
        print(f"manage.py: {error}", file=sys.stderr)
        return 2
    return 0


def own_services() -> AbstractContextManager[None]:
    """PostgreSQL and a broker for one command."""
    from local.throwaway import services

    return services()


if __name__ == "__main__":
    sys.exit(main())
