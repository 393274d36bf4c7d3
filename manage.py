#!/usr/bin/env python
"""The command line. A wrong setting ends here as one line and exit code 2."""

from __future__ import annotations

import os
import sys

#: Commands that run without a database or a broker, or bring their own.
WITHOUT_SERVICES = {"up", "check", "collectstatic", "help", "makemigrations", "test", "version"}


def main() -> int:
    """Run the command in `sys.argv`; return the exit code."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "durable.settings")
    try:
        from django.core.exceptions import ImproperlyConfigured
        from django.core.management import execute_from_command_line
    except ImportError:
        print("Django is not installed here: run `make up`, or activate .venv.", file=sys.stderr)
        return 2
    command = next((word for word in sys.argv[1:] if not word.startswith("-")), "help")
    try:
        import durable.settings  # noqa: F401  # Django would report a bad setting only after its own tale

        if command not in WITHOUT_SERVICES and not {"-h", "--help"} & set(sys.argv):
            from durable.checks import require_services

            require_services()
        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as error:
        print(f"manage.py: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
