"""Pages in a real browser, on a live server, with the real engine and the real stand-in behind them.

Every test also fails on what nobody may see: an error in the console, a breach of the content security policy, a
request to anywhere but the console itself, a dialogue that a page opens on its own.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, sync_playwright

from approvals.people import demo_people
from tests.browser.people import Cast, Watch, chromium
from tests.vendors import Vendor, vendor, vendor_process

__all__ = ["vendor", "vendor_process"]

#: No request may leave the machine, not even one that Chromium makes for itself.
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """The system's Chromium. Without one the tests are skipped aloud, and fail where CI is set."""
    path = chromium()
    if path is None:
        why = "no Chromium found: install the system's package, or name the program in INTERLOCK_CHROMIUM"
        if os.environ.get("CI"):
            pytest.fail(why)
        pytest.skip(f"BROWSER TESTS DID NOT RUN: {why}")
    # Playwright's own loop runs in this thread; the database is asked between its calls, never within one.
    before = os.environ.get("DJANGO_ALLOW_ASYNC_UNSAFE")
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
    try:
        with sync_playwright() as playwright:
            found = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
            yield found
            found.close()
    finally:
        os.environ.pop("DJANGO_ALLOW_ASYNC_UNSAFE")
        if before is not None:
            os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = before


@pytest.fixture
def watch() -> Watch:
    return Watch()


@pytest.fixture
def cast(browser: Browser, live_server: Any, vendor: Vendor, watch: Watch) -> Iterator[Cast]:
    """The demo people, each with a browser of their own, on a console with nothing in it."""
    demo_people()
    people = Cast(browser, live_server.url, watch)
    yield people
    people.leave()
    watch.check()
