"""Pages through Django's test client."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

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


@pytest.fixture(autouse=True)
def own_tools(settings: Any) -> None:
    """The tools of the tests' own factories; the product's agents are not what these tests are about."""
    settings.INTERLOCK_AGENTS = ("tests.factories",)
