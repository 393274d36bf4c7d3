"""The inbox in use: by keys, with somebody else at the same gates, and in front of a payload that is too long."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from approvals.models import Decision, Gate
from tests import factories
from tests.browser.people import Cast, waiting
from tests.browser.test_reviewers import approve
from tests.vendors import Vendor

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_keys_lead_through_the_queue_and_decide_nothing_by_themselves(cast: Cast, vendor: Vendor) -> None:
    waiting(vendor, name="1")
    waiting(vendor, "150.00", name="2")
    page = cast.enters("marta")
    page.goto("/gates/")
    expect(page.get_by_role("heading", name="Refund 184.50 EUR", level=1)).to_be_visible()
    page.keyboard.press("j")
    expect(page.get_by_role("heading", name="Refund 150.00 EUR", level=1)).to_be_visible()
    page.keyboard.press("k")
    expect(page.get_by_role("heading", name="Refund 184.50 EUR", level=1)).to_be_visible()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    page.keyboard.press("j")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog", name="Keys")).to_be_hidden()
    page.keyboard.press("e")
    dialogue = page.get_by_role("dialog", name="Edit what would be sent")
    expect(dialogue).to_be_visible()
    page.keyboard.type("jra")
    expect(dialogue).to_be_visible()
    page.keyboard.press("Escape")
    expect(dialogue).to_be_hidden()
    page.keyboard.press("a")
    expect(page.get_by_role("button", name="Approve 184.50 EUR")).to_be_focused()
    assert not Decision.objects.exists()
    page.keyboard.press("Enter")
    expect(page.get_by_text("Decided: approved, Refund 184.50 EUR.")).to_be_visible()
    expect(page.get_by_role("heading", name="Refund 150.00 EUR", level=1)).to_be_visible()
    assert Decision.objects.count() == 1


def test_an_open_gate_tells_within_seconds_that_somebody_else_decided(cast: Cast, vendor: Vendor) -> None:
    waiting(vendor)
    marta, jonas = cast.enters("marta"), cast.enters("jonas")
    for page in (marta, jonas):
        page.goto(f"/gates/{Gate.objects.get().pk}/")
    approve(jonas)
    expect(marta.get_by_role("alert")).to_contain_text("Approved by Jonas Okafor")
    expect(marta.get_by_role("button", name="Approve")).to_have_count(0)
    waiting(vendor, "150.00", name="2")
    expect(marta.get_by_role("link", name="1 new, 1 answered or over")).to_be_visible()


def test_a_long_payload_is_opened_before_it_is_approved(cast: Cast) -> None:
    gate = factories.gate(note="x" * 5_000)
    page = cast.enters("marta")
    page.goto(f"/gates/{gate.pk}/")
    button = page.get_by_role("button", name="Approve")
    expect(page.get_by_role("link", name="Open all of the payload first")).to_be_visible()
    expect(button).to_have_count(0)
    page.get_by_text("open them before you approve").click()
    expect(button).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    button.click()
    expect(page.get_by_text("Decided: approved")).to_be_visible()


def test_the_key_that_approves_opens_a_long_payload_first(cast: Cast) -> None:
    gate = factories.gate(note="x" * 5_000)
    page = cast.enters("marta")
    page.goto("/gates/")
    expect(page.get_by_role("link", name="Open all of the payload first")).to_be_visible()
    page.keyboard.press("e")
    page.keyboard.press("a")
    expect(page.get_by_role("group", name="The rest of it")).to_be_focused()
    assert not Decision.objects.exists()
    page.keyboard.press("a")
    expect(page.get_by_role("button", name="Approve 184.50 EUR")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_text("Decided: approved")).to_be_visible()
    assert Decision.objects.get().gate_id == gate.pk


def test_a_long_payload_is_opened_without_any_script_too(cast: Cast) -> None:
    gate = factories.gate(note="x" * 5_000)
    page = cast.enters("marta", java_script_enabled=False)
    page.goto(f"/gates/{gate.pk}/")
    page.get_by_role("link", name="Open all of the payload first").click()
    page.get_by_role("button", name="Approve").click()
    expect(page.get_by_text("Decided: approved")).to_be_visible()
