"""Pages through Django's test client."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from approvals.queries import finding, pages
from tests import factories
from tests.local import invented
from tests.vendors import vendor, vendor_process

__all__ = ["vendor", "vendor_process"]

SignIn = Callable[[User], Client]


@pytest.fixture
def sign_in() -> SignIn:
    """A browser in which the person has signed in, as strict about CSRF as Django's test client is by default."""

    def enter(person: User) -> Client:
        client = Client()
        client.force_login(person)
        return client

    return enter


@pytest.fixture
def olga(sign_in: SignIn) -> Client:
    """An operator's browser."""
    return sign_in(factories.person("olga"))


@pytest.fixture
def ada(sign_in: SignIn) -> Client:
    """An admin's browser."""
    return sign_in(factories.person("ada"))


@pytest.fixture
def reader(sign_in: SignIn) -> Client:
    """An operator before an invented history of 160 runs; wants tests whose transactions commit."""
    invented.fill(160)
    return sign_in(User.objects.get(username="sven"))


@pytest.fixture
def two(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No more than two of anything are counted. SQL that is kept, as of what is counted each time the same, is not."""
    monkeypatch.setattr(pages, "COUNTED", 2)
    finding._of_all.cache_clear()
    yield
    finding._of_all.cache_clear()


def fewest(ask: Callable[[], Any], tries: int = 200) -> tuple[int, int]:
    """The answer of one page, asked again and again: its status, and the fewest queries that it took.

    A poll costs one query while nothing on the whole server has changed, and tests beside this one write to theirs.
    """
    answers: list[tuple[int, int]] = []
    while len(answers) < tries and (not answers or answers[-1][1] > 1):
        with CaptureQueriesContext(connection) as asked:
            status = ask().status_code
        answers.append((status, len(asked)))
    assert len({status for status, _ in answers}) == 1, answers
    return min(answers, key=lambda answer: answer[1])


@pytest.fixture(autouse=True)
def own_tools(settings: Any) -> None:
    """The tools of the tests' own factories; the product's agents are not what these tests are about."""
    settings.INTERLOCK_AGENTS = ("tests.factories",)
