"""Who sits in front of the console in these tests, and what is watched while they do."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page

from approvals.people import DEMO_PASSWORD
from durable.models import Run
from tests.engine import desk
from tests.vendors import Vendor

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
_BREACHES = "addEventListener('securitypolicyviolation', e => console.error('CSP: ' + e.violatedDirective))"
#: How long a page may take, in milliseconds.
PATIENCE = 8_000


def chromium() -> str | None:
    """Where a Chromium is: named in the environment, on the path, or among Playwright's own."""
    named = os.environ.get("INTERLOCK_CHROMIUM")
    if named:
        return named
    found = next((path for name in _NAMES if (path := shutil.which(name))), None)
    own = sorted(Path.home().glob(".cache/ms-playwright/chromium-*/chrome-linux*/chrome"))
    return found or (str(own[-1]) if own else None)


@dataclass
class Watch:
    """What browsers did that nobody asked for. `allowed` holds statuses that a test provokes on purpose."""

    seen: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    allowed: set[int] = field(default_factory=set)
    offline: bool = False

    def over(self, context: BrowserContext, home: str) -> None:
        """Watch all pages of a context whose console is at `home`."""
        context.add_init_script(_BREACHES)
        context.on("console", self._console)
        context.on("weberror", lambda error: self.seen.append(f"script error: {error.error}"))
        context.on("request", lambda request: self._request(request.url, home))
        context.on("dialog", self._dialog)

    def check(self) -> None:
        """Fail on anything that was seen."""
        assert self.seen == []

    def _console(self, message: ConsoleMessage) -> None:
        told = message.text.startswith(("Failed to load resource", "Response Status Error Code"))
        if told and any(f" {status} " in message.text for status in self.allowed):
            return
        if self.offline and (message.text.startswith("htmx:") or "net::ERR_" in message.text):
            return
        if message.type in ("error", "warning"):
            self.seen.append(f"console: {message.text}")

    def _request(self, url: str, home: str) -> None:
        self.asked.append(url)
        if urlsplit(url).netloc != urlsplit(home).netloc:
            self.seen.append(f"request to elsewhere: {url}")

    def _dialog(self, dialog: Any) -> None:
        self.seen.append(f"dialogue: {dialog.message}")
        dialog.dismiss()


class Cast:
    """The demo people, each in a browser of their own."""

    def __init__(self, browser: Browser, home: str, watch: Watch) -> None:
        self._browser, self._home, self._watch = browser, home, watch
        self._contexts: list[BrowserContext] = []

    def stranger(self, **options: Any) -> Page:
        """A page of somebody who has not signed in. `options` are the browser context's."""
        home = options.setdefault("base_url", self._home)
        context = self._browser.new_context(**options)
        context.set_default_timeout(PATIENCE)
        self._watch.over(context, home)
        self._contexts.append(context)
        return context.new_page()

    def signs_in(self, name: str, **options: Any) -> Page:
        """Let a person sign in by the form; returns their page, wherever that leads them."""
        page = self.stranger(**options)
        page.goto("/sign-in/")
        sign_in(page, name)
        return page

    def enters(self, name: str, **options: Any) -> Page:
        """The page of a person who has signed in before."""
        client = Client()
        client.force_login(User.objects.get(username=name))
        page = self.stranger(**options)
        home = options.get("base_url", self._home)
        name = settings.SESSION_COOKIE_NAME
        page.context.add_cookies([{"name": name, "value": client.cookies[name].value, "url": home}])
        return page

    def leave(self) -> None:
        """Close every browser."""
        for context in self._contexts:
            context.close()


def look_at(page: Page, path: str) -> None:
    """Go to a page that must be there, and be the one that is shown."""
    answer = page.goto(path)
    assert answer is not None and answer.status == 200, path
    assert urlsplit(page.url).path == urlsplit(path).path


def waiting(
    vendor: Vendor, amount: str = "184.50", name: str = "8812", text: str = "It arrived broken."
) -> Run:
    """A refund that is large enough to wait for people."""
    desk.order(vendor, amount=amount, name=name)
    run = desk.drive(desk.start(name, text=text))
    assert desk.effects(run) == {"pay": "gated"}
    return run


def sign_in(page: Page, name: str, *, lands: bool = True) -> None:
    """Fill in the sign-in form that the page shows. `lands`: it leads to another address."""
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password").fill(DEMO_PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    if lands:
        page.wait_for_url(lambda url: "/sign-in/" not in url)
