"""Shared by all tests. The services are `local.pytest_plugin`'s; this takes their database in pytest-django's place."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any

import pytest
import redis

from durable.settled import settle
from local.testdb import cheap_passwords, django_db_setup

__all__ = ["cheap_passwords", "django_db_setup"]

#: Folders whose tests wait for processes more than they compute.
_WAITING = {"browser", "process", "proof"}


@pytest.fixture
def nothing_asked(settings: Any) -> None:
    """Forget what other tests have asked of workers, through the broker of this process, and nobody has heard."""
    with redis.Redis.from_url(settings.CELERY_BROKER_URL) as broker:
        broker.flushdb()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Spread the modules that mostly wait evenly over all others, which compute meanwhile."""
    waiting = _modules(item for item in items if item.path.parent.name in _WAITING)
    others = _modules(item for item in items if item.path.parent.name not in _WAITING)
    share = len(waiting) / max(sum(map(len, others)), 1)
    spread: list[pytest.Item] = []
    due = 0.0
    for module in others:
        spread += module
        due += share * len(module)
        while waiting and due >= 0.5:
            spread += waiting.pop(0)
            due -= 1
    items[:] = spread + [item for module in waiting for item in module]


def pytest_collection_finish() -> None:
    """Every test's module is loaded, and stays."""
    settle()


def _modules(items: Iterator[pytest.Item]) -> list[list[pytest.Item]]:
    """What follows one another in one module stays together: it shares what it has set up."""
    return [list(module) for _, module in groupby(items, key=lambda item: item.path)]
