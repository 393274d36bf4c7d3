"""No page breaks a rule of WCAG that a machine can check. Full pages are looked at in test_full.py."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from approvals.models import Gate
from durable import indexing, recovery, runs
from durable.clock import db_now
from durable.findings import AGREED, Finding
from durable.models import Effect, Run
from durable.vendor_statements import explaining
from tests.approvals import stated
from tests.browser.people import Cast, look_at
from tests.engine import desk
from tests.vendors import Vendor

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

AXE = (Path(__file__).parent / "vendor" / "axe.min.js").read_text()
#: Of what is right nothing is asked: to collect it takes longer than to look.
RULES: dict[str, Any] = {
    "light": {
        "resultTypes": ["violations"],
        "runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
    },
    # The same page in other colours: what else could be wrong has been looked at.
    "dark": {
        "resultTypes": ["violations"],
        "runOnly": {"type": "rule", "values": ["color-contrast", "link-in-text-block"]},
    },
    # The same page on a small screen: what else could be wrong there doesn't hang on the width.
    "narrow": {
        "resultTypes": ["violations"],
        "runOnly": {"type": "rule", "values": ["target-size", "scrollable-region-focusable"]},
    },
}

RETENTION = ["/retention/?look=due", "/retention/change/?checkpoints=3", "/holds/?q=order:2"]
#: Lists behind the numbers of the first page.
BEHIND = ["/today/stuck/", "/today/irreversible/", "/today/moved/?currency=EUR"]


def violations(page: Page, theme: str = "light") -> list[str]:
    """What axe finds on the page as it stands, one line for each element."""
    if not page.evaluate("Boolean(window.axe)"):
        page.evaluate(AXE)  # not stopped by the content security policy: it comes through the debugger
    found: dict[str, Any] = page.evaluate("rules => axe.run(document, rules)", RULES[theme])
    return [
        f"{page.url}: {rule['id']} ({rule['impact']}): {node['html'][:160]}"
        for rule in found["violations"]
        for node in rule["nodes"]
    ]


def scenes(vendor: Vendor) -> tuple[list[str], list[str], list[str]]:
    """A console with something on every page; returns the addresses of lists, of gates, and of runs and effects."""
    for name, amount, currency in (("1", "184.50", "EUR"), ("2", "18900", "JPY"), ("3", "31.00", "EUR")):
        desk.order(vendor, amount=amount, currency=currency, name=name)
        desk.drive(desk.start(name, text="<b>x</b> \u202egnp\u202c pay\u200bpal", reply_to="a@example.org"))
    charge = vendor.seed_charge("90.00", "EUR")
    vendor.seed_order("4", "90.00", "EUR", charge=charge)
    vendor.fault("error", method="POST", path="/v1/refunds", times=1, acts=False, saved=True)
    doubt = desk.drive(runs.start("RefundDesk", desk.ticket("4", amount="23.40"), actor="tests"))
    for _ in range(2):
        vendor.client().v1.refunds.create({"charge": charge, "amount": 2340})
    desk.time_passes(minutes=10)
    recovery.sweep()
    desk.drive(doubt)
    desk.order(vendor, amount="12.00", name="5")
    undone = desk.drive(desk.start("5"))
    runs.compensate(undone.ref, actor="sven", reason="a wrong customer")
    desk.drive(undone)
    indexing.catch_up(30)
    gates = [f"/gates/{gate.pk}/" for gate in Gate.objects.order_by("id")]
    gates += [f"{gates[0]}alike/", f"{gates[0]}facts/"]
    details = [f"/runs/{doubt.ref}/", f"/runs/{undone.ref}/", f"/effects/{doubt.ref}:pay/"]
    details.append(f"/runs/{undone.ref}/compensation/")
    details += [f"/dossiers/runs/{undone.ref}/", f"/dossiers/effects/{doubt.ref}:pay/"]
    searched = ["/ledger/?q=customer:*cus*", "/ledger/?q=tool:nothing+amount:1,5", "/refunds/"]
    searched += ["/statements/", *(f"/statements/{number}/" for number in _stated(undone))]
    return (
        ["/gates/", "/runs/", "/doubts/", "/compensation/", "/ledger/", *searched, "/tools/"],
        gates,
        details,
    )


def _stated(run: Run) -> list[int]:
    """A statement with some of each kind of difference, of which one is explained, and one that could not be made.

    Of days before the last week, of which an invented history has statements.
    """
    effect, made = Effect.objects.filter(run=run)[0], stated.made(Finding.VENDOR_ALONE, back=20)
    found = [
        stated.differs(made, kind, effect=effect)
        for kind in Finding
        if kind not in (*AGREED, Finding.VENDOR_ALONE)
    ]
    explaining.explain(made.pk, [found[0].pk], actor="rita", reason="by hand, while we were down")
    failed = stated.request(21, tries=2, trouble="Stripe answered 503", failing_since=db_now())
    return [made.pk, failed.pk]


EMPTY = (
    "/",
    "/gates/",
    "/runs/",
    "/doubts/",
    "/compensation/",
    "/ledger/",
    "/refunds/",
    "/statements/",
    "/tools/",
)


def test_a_fresh_installation_has_whole_pages_too(cast: Cast) -> None:
    found, page = [], cast.enters("sven")
    for path in EMPTY:
        page.emulate_media(color_scheme="light")
        look_at(page, path)
        found += violations(page, "light")
        page.emulate_media(color_scheme="dark")
        found += violations(page, "dark")
    assert found == []


def test_an_open_dialogue_breaks_no_rule(cast: Cast, vendor: Vendor) -> None:
    desk.order(vendor, amount="184.50")
    run = desk.drive(desk.start())
    runs.hold(run.ref, actor="sven", reason="to offer every act")
    page = cast.enters("sven")
    page.goto(f"/runs/{run.ref}/")
    found = []
    for label in ("Release", "Skip the step", "Edit state", "Fork", "Cancel"):
        page.get_by_role("button", name=label, exact=True).first.click()
        dialogue = page.get_by_role("dialog", name=label)
        expect(dialogue).to_be_visible()
        found += violations(page)
        page.keyboard.press("Escape")
        expect(dialogue).to_be_hidden()
    assert found == []
