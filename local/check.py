"""The body of `manage.py up --check`: is what the product says true, seen from outside?

It waits for demo runs to end and for one to wait at a gate, answers that gate as a person would (signs in over
HTTP, posts the page's own form), waits until the run has gone on, and holds the vendor's book against the ledger.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from urllib.parse import unquote

from django.conf import settings

from durable.models import Effect, LedgerEvent, Run
from durable.states import EventKind, RunState
from local import audit, demo, keys
from local.browser import Browser, Page
from local.vendor import Vendor

REVIEWER = "marta"
#: How many runs must have completed before the check believes that the demonstration runs.
COMPLETED = 3
_PATIENCE = 60.0


class Disagrees(Exception):
    """The product did not do what it should. The message says what was seen."""


def run() -> int:
    """Check; print what was found. Returns 0 only if vendor's book and ledger agree in everything."""
    try:
        wait_until(lambda: completed() >= COMPLETED, f"{COMPLETED} runs to complete")
        wait_until(lambda: demo.open_gates() > 0, "a run to wait at a gate")
        print(f"runs completed: {completed()}, gates open: {demo.open_gates()}", flush=True)
        approve_one(Browser(settings.PUBLIC_URL), keys.load(settings.INTERLOCK_DATA)["demo"])
        return hold_against(Vendor(settings.SHOP_API_BASE))
    except Disagrees as error:
        print(f"NOT AS IT SHOULD BE: {error}", flush=True)
        return 1


def approve_one(browser: Browser, password: str) -> str:
    """Approve a gate through its page, and wait until its effect is applied. Returns the effect's key."""
    sign_in(browser, password)
    page = gate_page(browser)
    form = next(form for form in page.forms if form.fields.get("verdict") == "approve")
    key = effect_of(page)
    # What may have been done already is not approved without a reason.
    answer = browser.post(page, form, reason="looked at by hand")
    if answer.status != 200 or "Decided: approved" not in answer.text:
        raise Disagrees(f"the approval of {key} was answered with {answer.status}")
    wait_until(lambda: applied(key), f"{key} to be applied after its approval")
    print(f"approved by {REVIEWER} over HTTP, and applied: {key}", flush=True)
    return key


def sign_in(browser: Browser, password: str) -> None:
    """Sign in through the page for it, with its own CSRF token."""
    page = browser.get("/sign-in/?next=/gates/")
    if not page.forms:
        raise Disagrees(f"the sign-in page ({page.status}) has no form")
    answer = browser.post(page, page.forms[0], username=REVIEWER, password=password)
    if answer.status != 200 or "/sign-in/" in answer.url:
        raise Disagrees(f"{REVIEWER} could not sign in: {answer.status} at {answer.url}")


def gate_page(browser: Browser) -> Page:
    """Return the page of a gate that this person may approve, if possible of one that the book is going to show."""
    inbox = browser.get("/gates/")
    links = dict.fromkeys(link for link in inbox.links if re.fullmatch(r"/gates/\d+/", link))
    pages = [page for page in map(browser.get, links) if _may_approve(page)]
    for page in pages:
        if Effect.objects.filter(key=effect_of(page), vendor__in=audit.VENDORS).exists():
            return page
    if pages:
        return pages[0]
    raise Disagrees(f"the inbox ({inbox.status}) shows no gate that {REVIEWER} may approve")


def _may_approve(page: Page) -> bool:
    return any(form.fields.get("verdict") == "approve" for form in page.forms)


def effect_of(page: Page) -> str:
    """Return the key of the effect that a gate's page is about."""
    for link in page.links:
        found = re.fullmatch(r"/effects/([^/]+)/", link)
        if found:
            return unquote(found[1])
    raise Disagrees("the gate's page does not name its effect")


def hold_against(vendor: Vendor) -> int:
    """Compare until nothing that differs is still under way; print the comparison. Returns the exit code."""
    end = time.monotonic() + _PATIENCE
    while True:
        ledger = audit.from_ledger()
        book = audit.from_book(vendor.book())
        rows = audit.compare(book, ledger)
        wrong = [row for row in rows if row.wrong]
        # What was read later may hold more: an effect that was applied meanwhile, or is about to be.
        moving = audit.under_way() | {entry.key for entry in audit.from_ledger()} - {e.key for e in ledger}
        if not any(row.key in moving for row in wrong) or time.monotonic() > end:
            break
        time.sleep(0.5)
    print("\n".join(audit.table(rows)), flush=True)
    print(f"moved at the vendor: {audit.sums(book)}\nin the ledger:       {audit.sums(ledger)}", flush=True)
    if wrong or not rows:
        print(f"vendor's book and ledger DISAGREE in {len(wrong)} of {len(rows)} entries", flush=True)
        return 1
    print(f"vendor's book and ledger agree in all {len(rows)} entries", flush=True)
    return 0


def completed() -> int:
    """Return how many runs have completed."""
    return Run.objects.filter(state=RunState.COMPLETED.value).count()


def applied(key: str) -> bool:
    """Whether the ledger calls the effect applied."""
    kinds = [EventKind.APPLIED.value, EventKind.ADOPTED.value]
    return LedgerEvent.objects.filter(effect_key=key, kind__in=kinds).exists()


def wait_until(ready: Callable[[], bool], what: str, seconds: float = _PATIENCE) -> None:
    """Poll until `ready`. Raises Disagrees when it took too long."""
    end = time.monotonic() + seconds
    while not ready():
        if time.monotonic() > end:
            raise Disagrees(f"waited {seconds:g} seconds for {what}")
        time.sleep(0.2)
