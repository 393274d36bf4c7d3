"""A reviewer's day: approve, reject, edit, ask back; and what happens to a click that comes too often or too late."""

from __future__ import annotations

import re
from decimal import Decimal

import pytest
from playwright.sync_api import Page, expect

from approvals.models import Decision, Gate
from tests.browser.people import Cast, Watch, waiting
from tests.engine import desk
from tests.vendors import Vendor

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def open_gate(page: Page, title: str) -> None:
    """Choose a gate in the inbox."""
    page.goto("/gates/")
    page.get_by_role("link", name=title).click()
    expect(page.get_by_role("heading", name=title, level=1)).to_be_visible()


def deaf(page: Page) -> None:
    """Let the page hear of no change: as it stood is how it stays."""
    page.evaluate("document.querySelector('#news').remove()")


def approve(page: Page) -> None:
    page.get_by_role("button", name="Approve").click()


def test_a_reviewer_approves_what_waits_and_it_is_refunded(cast: Cast, vendor: Vendor) -> None:
    run = waiting(vendor)
    page = cast.signs_in("marta")
    expect(page).to_have_title("Today · Interlock")
    expect(page.get_by_role("region", name="Waits for you")).to_contain_text("Refund 184.50 EUR")
    open_gate(page, "Refund 184.50 EUR")
    expect(page.get_by_text('"184.50"')).to_be_visible()
    approve(page)
    expect(page.get_by_role("status").filter(has_text="goes on as soon as a worker takes it")).to_be_visible()
    desk.drive(run)
    page.goto(f"/runs/{run.ref}/")
    expect(page.get_by_role("main")).to_contain_text("Marta Oliveira approved")
    expect(page.get_by_text("Completed").first).to_be_visible()
    assert vendor.moved() == [Decimal("184.50")]


def test_a_reviewer_rejects_with_a_reason_that_reaches_the_agent(cast: Cast, vendor: Vendor) -> None:
    run = waiting(vendor)
    page = cast.enters("marta")
    open_gate(page, "Refund 184.50 EUR")
    page.keyboard.press("r")
    dialogue = page.get_by_role("dialog", name="Reject")
    expect(dialogue).to_contain_text("184.50 EUR is given back to the run's budget.")
    dialogue.get_by_label("Reason").fill("The parcel never came back.")
    dialogue.get_by_role("button", name="Reject").click()
    expect(page.get_by_text("Decided: rejected, Refund 184.50 EUR.")).to_be_visible()
    desk.drive(run)
    assert (desk.effects(run), vendor.moved()) == ({"pay": "rejected"}, [])
    assert run.checkpoints.filter(state__refused="The parcel never came back.").exists()


def test_an_edit_is_decided_by_somebody_else(cast: Cast, vendor: Vendor) -> None:
    run = waiting(vendor)
    marta, jonas = cast.enters("marta"), cast.enters("jonas")
    open_gate(marta, "Refund 184.50 EUR")
    marta.get_by_role("button", name="Edit").click()
    dialogue = marta.get_by_role("dialog", name="Edit what would be sent")
    expect(dialogue).to_contain_text("May approve it then: Jonas Okafor.")
    dialogue.get_by_label("amount").fill("120.00")
    dialogue.get_by_role("button", name="Ask about this").click()
    expect(marta.get_by_role("heading", name="Refund 120.00 EUR")).to_be_visible()
    expect(marta.get_by_text("You can't approve this: you edited what would be sent")).to_be_visible()
    expect(marta.get_by_role("button", name="Approve")).to_have_count(0)
    open_gate(jonas, "Refund 120.00 EUR")
    changed = jonas.get_by_role("row", name="amount 184.50")
    expect(changed).to_contain_text("120.00")
    approve(jonas)
    expect(jonas.get_by_text("Decided: approved, Refund 120.00 EUR.")).to_be_visible()
    desk.drive(run)
    assert vendor.moved() == [Decimal("120.00")]


def test_a_question_is_answered_before_it_is_decided(cast: Cast, vendor: Vendor) -> None:
    waiting(vendor)
    marta, sven = cast.enters("marta"), cast.enters("sven")
    open_gate(marta, "Refund 184.50 EUR")
    marta.get_by_role("button", name="Ask back").click()
    marta.get_by_role("dialog").get_by_label("Reason").fill("Is it from the recall?")
    marta.get_by_role("button", name="Ask", exact=True).click()
    expect(marta.get_by_text("Asked about Refund 184.50 EUR.")).to_be_visible()
    expect(marta.get_by_role("button", name="Approve")).to_have_count(0)
    open_gate(sven, "Refund 184.50 EUR")
    expect(sven.get_by_text("Is it from the recall?")).to_be_visible()
    sven.get_by_role("button", name="Answer").first.click()
    sven.get_by_role("dialog").get_by_label("Reason").fill("No, another batch.")
    sven.get_by_role("dialog").get_by_role("button", name="Answer").click()
    expect(sven.get_by_text("Answered. The reviewers see it in a new round.")).to_be_visible()
    open_gate(marta, "Refund 184.50 EUR")
    expect(marta.get_by_text("No, another batch.").first).to_be_visible()
    approve(marta)
    expect(marta.get_by_text("Decided: approved")).to_be_visible()


def test_a_double_click_gives_one_decision(cast: Cast, vendor: Vendor) -> None:
    waiting(vendor)
    page = cast.enters("marta")
    open_gate(page, "Refund 184.50 EUR")
    page.get_by_role("button", name="Approve").dblclick()
    expect(page.get_by_text("Decided: approved")).to_be_visible()
    assert Decision.objects.count() == 1


def test_without_any_script_everything_works_too(cast: Cast, vendor: Vendor, watch: Watch) -> None:
    watch.allowed = {409}
    first, second = waiting(vendor, name="1"), waiting(vendor, "150.00", name="2")
    page = cast.enters("marta", java_script_enabled=False)
    open_gate(page, "Refund 184.50 EUR")
    page.get_by_role("button", name="Approve").dblclick()
    expect(page.get_by_text(re.compile("Decided: approved|pproved by")).first).to_be_visible()
    open_gate(page, "Refund 150.00 EUR")
    page.get_by_role("button", name="Reject").click()
    page.get_by_role("dialog").get_by_label("Reason").fill("Twice the same.")
    page.get_by_role("dialog").get_by_role("button", name="Reject").click()
    expect(page.get_by_text("Decided: rejected, Refund 150.00 EUR.")).to_be_visible()
    for run in (first, second):
        desk.drive(run)
    assert (vendor.moved(), Decision.objects.count()) == ([Decimal("184.50")], 2)


def test_a_page_from_before_an_edit_is_told_what_changed(cast: Cast, vendor: Vendor, watch: Watch) -> None:
    watch.allowed = {409}
    waiting(vendor)
    marta, jonas = cast.enters("marta"), cast.enters("jonas")
    for page in (marta, jonas):
        open_gate(page, "Refund 184.50 EUR")
    deaf(jonas)
    marta.get_by_role("button", name="Edit").click()
    marta.get_by_role("dialog").get_by_label("amount").fill("120.00")
    marta.get_by_role("button", name="Ask about this").click()
    expect(marta.get_by_role("heading", name="Refund 120.00 EUR")).to_be_visible()
    approve(jonas)
    expect(jonas.get_by_role("alert")).to_contain_text(
        "what would be sent has changed since your page was made"
    )
    difference = jonas.get_by_role("region", name="What has changed since your page was made")
    expect(difference.get_by_role("row", name="amount")).to_contain_text("184.50")
    assert not Decision.objects.filter(verdict="approve").exists()


def test_too_late_is_told_as_too_late(cast: Cast, vendor: Vendor, watch: Watch) -> None:
    watch.allowed = {409}
    waiting(vendor)
    page = cast.enters("marta")
    open_gate(page, "Refund 184.50 EUR")
    deaf(page)
    desk.time_passes(days=4)
    approve(page)
    expect(page.get_by_role("alert")).to_contain_text("Too late: it had to be decided by")
    assert Gate.objects.get().state == "open" and not Decision.objects.exists()


def test_hostile_words_are_shown_and_do_nothing(cast: Cast, vendor: Vendor, watch: Watch) -> None:
    words = (
        "<img src=https://evil.example/p.png onerror=alert(1)> <script>alert(2)</script>"
        " ![x](https://evil.example/q.png) [click](javascript:alert(3)) <a hx-get=/sign-out/ hx-trigger=load>x</a>"
        " \u202egnp.exe\u202c pay\u200bpal " + "A" * 400
    )
    run = waiting(vendor, text=words)
    page = cast.enters("marta")
    open_gate(page, "Refund 184.50 EUR")
    for path in (page.url, f"/runs/{run.ref}/", f"/effects/{run.ref}:pay/"):
        page.goto(path)
        page.wait_for_load_state("networkidle")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    said = page.get_by_role("region", name="What the agent says")
    expect(said).to_contain_text("<script>alert(2)</script>")
    expect(said).to_contain_text("hidden or look-alike characters, marked above")
    expect(said.locator("img, script, a")).to_have_count(0)
    assert watch.seen == [] and all("evil.example" not in url for url in watch.asked)
