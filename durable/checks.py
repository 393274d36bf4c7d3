"""What must be true before anything starts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register
from django.core.exceptions import ImproperlyConfigured
from django.db import DatabaseError, connection
from django.utils.module_loading import import_string

from durable.errors import UnknownAgent


def require_services() -> None:
    """Refuse to start a process whose database, broker or keys nobody has named.

    Raises ImproperlyConfigured with every missing name in one line.
    """
    missing: list[str] = settings.MISSING
    if missing:
        raise ImproperlyConfigured(
            f"{', '.join(missing)} must be set. `make up` brings its own; while it runs, other commands find them."
        )


def require_seal_key() -> None:
    """Refuse to start a process that could read nothing of what is sealed, and would seal what no other could read.

    A database that is away, or has no tables yet, proves nothing: then `runner.drive` asks again before each claim.
    Raises ImproperlyConfigured.
    """
    trouble = seal_key_trouble()
    if trouble:
        raise ImproperlyConfigured(trouble)


def seal_key_trouble() -> str:
    """Empty, or what is wrong with INTERLOCK_SEAL_KEY and what to do. No connection is left open."""
    from durable import vault  # its models are not there before the applications are

    try:
        vault.prove()
    except vault.WrongKey as error:
        return str(error)
    except DatabaseError:
        return ""
    finally:
        if not connection.in_atomic_block:
            connection.close()
    return ""


def enter_with_key(program: str) -> None:
    """The door of a worker or of beat, once the applications are set up: a wrong key ends it with one line."""
    try:
        require_seal_key()
    except ImproperlyConfigured as error:
        raise SystemExit(f"{program}: {error}") from None


def enter(program: str) -> None:
    """The door of a worker or a web process: a setting that is wrong or missing ends it with one line."""
    try:
        require_services()
    except ImproperlyConfigured as error:
        raise SystemExit(f"{program}: {error}") from None


@register()
def dotted_paths(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    """What cannot be imported would stop the first gate, or keep no root outside, not the start: find it now."""
    found: list[CheckMessage] = []
    for name, paths in (
        ("INTERLOCK_GATEKEEPER", [settings.INTERLOCK_GATEKEEPER]),
        ("INTERLOCK_ANCHORS", settings.INTERLOCK_ANCHORS),
    ):
        for path in paths:
            try:
                import_string(path)
            except ImportError as error:
                found.append(Error(f"{name} cannot be imported: {error}", id="interlock.E001"))
    return found


def agents(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    """Tell of an agent's module that can't be imported. Registered by `manage.py check` alone: a command that holds a
    run, or sweeps, must not be refused because one author's code is broken.
    """
    from durable import plan

    try:
        plan.agents()
    except UnknownAgent as error:
        return [Error(error.rule, id="interlock.E003")]
    return []


@register(Tags.database)
def the_right_seal_key(
    app_configs: Sequence[AppConfig] | None, databases: Sequence[str] | None = None, **kwargs: Any
) -> list[CheckMessage]:
    """Tell of a key that opens nothing of what is stored. Asked with `check --database default`."""
    if databases is None or "default" not in databases:
        return []
    trouble = seal_key_trouble()
    return [Error(trouble, id="interlock.E002")] if trouble else []


#: What an honest disk needs of the server; each named by what is lost without it.
_HONEST = {
    "fsync": "after a power failure nothing that was acknowledged is sure to be there",
    "full_page_writes": "after a power failure pages may be torn, and the server may not start",
    "synchronous_commit": "after a kill of the server the last intents, outcomes and decisions may be gone",
}


@register(Tags.database)
def honest_database(
    app_configs: Sequence[AppConfig] | None, databases: Sequence[str] | None = None, **kwargs: Any
) -> list[CheckMessage]:
    """Warn of settings with which "committed" does not mean "on the disk". Asked with `check --database default`."""
    if databases is None or "default" not in databases:
        return []
    with connection.cursor() as cursor:
        cursor.execute("SELECT name, setting FROM pg_settings WHERE name = ANY(%s)", [list(_HONEST)])
        off = sorted(name for name, setting in cursor.fetchall() if setting == "off")
    return [
        Warning(f"PostgreSQL runs with {name} = off: {_HONEST[name]}.", id="interlock.W001") for name in off
    ]
