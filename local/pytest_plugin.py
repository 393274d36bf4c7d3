"""Real services under the tests: one throw-away PostgreSQL and broker a session, one database a test process.

It starts before pytest-django reads the settings. Tests speak as the application's role, so what the database refuses
to the product it refuses to them; only cleaning up after tests that commit is done as superuser. Real workers that a
test starts inherit the same services through the environment. The tests' own `conftest.py` takes the fixture of
`local.testdb`.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from local import bytecode, keys
from local.throwaway import PATTERN, ThrowAway

#: In the environment of xdist's workers: the superuser's address, which the controller has found.
SHARED = "INTERLOCK_TEST_SERVICES"


class _Session:
    """What this process started itself; xdist's workers start nothing."""

    services: ThrowAway | None = None
    compiled = ExitStack()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--fsync", action="store_true", help="let PostgreSQL wait for the disk, as in production"
    )


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> Iterator[None]:
    """As a wrapper it comes before pytest-django's own, which reads the settings."""
    worker = os.environ.get("PYTEST_XDIST_WORKER", "")
    if not worker and not early_config.known_args_namespace.help:
        _Session.compiled.enter_context(bytecode.shared())
        services = ThrowAway.start(fsync=early_config.known_args_namespace.fsync)
        _Session.services = services
        os.environ.update(services.settings(database="tests_main", number=15))
        os.environ[PATTERN] = str(_with_the_keys_of(services))
        os.environ[SHARED] = json.dumps(
            {
                "admin": services.postgres.url(keys.SUPERUSER, "{}"),
                "app": services.postgres.url(keys.APPLICATION, "{}"),
                "owner": services.postgres.url(keys.OWNER, "{}"),
                "broker": services.broker.url().removesuffix("0"),
            }
        )
    elif worker:
        shared = json.loads(os.environ[SHARED])
        os.environ["DATABASE_URL"] = shared["app"].format(f"tests_{worker}")
        os.environ["DATABASE_OWNER_URL"] = shared["owner"].format(f"tests_{worker}")
        os.environ["CELERY_BROKER_URL"] = shared["broker"] + str(int(worker.removeprefix("gw")) % 15)
    os.environ["STATIC_HASHED"] = "false"
    yield


def _with_the_keys_of(services: ThrowAway) -> Path:
    """Where a test's own database is copied from: what is sealed in it, the tests' own processes can open."""
    folder = services.folder / "pattern"
    folder.mkdir(mode=0o700)
    shutil.copy(services.folder / keys.FILE, folder)
    return folder


def pytest_unconfigure() -> None:
    if _Session.services is not None:
        _Session.services.stop()
        _Session.services = None
    _Session.compiled.close()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Quick tests first: those with real worker processes come last."""
    items.sort(key=lambda item: item.get_closest_marker("process") is not None)
