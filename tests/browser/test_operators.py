"""An operator's day, an auditor's search, and a console that loses its connection or its session."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.sessions.models import Session
from playwright.sync_api import Page, expect

from durable import recovery, runs
from durable.models import Run
from tests.browser.people import Cast, Watch, sign_in, waiting
from tests.engine import desk
from tests.vendors import Vendor

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def act(page: Page, label: str, reason: str, says: str) -> None:
    """Open an act's dialogue, see what it will do, give the reason, and do it."""
    page.get_by_role("button", name=label, exact=True).first.click()
    dialogue = page.get_by_role("dialog", name=label)
    expect(dialogue.get_by_role("list", name="What it will do")).to_contain_text(says)
    dialogue.get_by_label("Reason").fill(reason)
    dialogue.get_by_role("button", name=label).click()


def test_an_operator_holds_releases_and_cancels_knowing_what_follows(cast: Cast, vendor: Vendor) -> None:
    run = waiting(vendor)
    page = cast.signs_in("sven")
    expect(page.get_by_role("heading", name="Today")).to_be_visible()
    page.goto(f"/runs/{run.ref}/")
    act(page, "Hold", "Checking with the warehouse", "1 gate stays open: an answer counts")
    expect(page.get_by_text("Held by Sven Adler; nothing more leaves")).to_be_visible()
    act(page, "Release", "All is well", "Still waits for people: Refund 184.50 EUR (pay).")
    expect(page.get_by_text("Released. It goes on")).to_be_visible()
    act(page, "Cancel", "A duplicate", "Withdrawn, never arrived: 1 effect (184.50 EUR).")
    expect(page.get_by_text("It is being cancelled")).to_be_visible()
    desk.drive(run)
    expect(page.get_by_text("It was cancelled. Nothing more leaves.")).to_be_visible()
    assert (run.state, desk.effects(run), vendor.book()) == ("cancelled", {"pay": "withdrawn"}, [])


def two_fit(vendor: Vendor) -> tuple[Run, list[str]]:
    """A run of which a refund of 23.40 was not answered, while the vendor has made two of that amount."""
    charge = vendor.seed_charge("90.00", "EUR")
    vendor.seed_order("8812", "90.00", "EUR", charge=charge)
    vendor.fault("error", method="POST", path="/v1/refunds", times=1, acts=False, saved=True)
    run = desk.drive(runs.start("RefundDesk", desk.ticket(amount="23.40"), actor="tests"))
    made = [vendor.client().v1.refunds.create({"charge": charge, "amount": 2340}).id for _ in range(2)]
    desk.time_passes(minutes=10)
    recovery.sweep()
    return run, made


def test_an_operator_settles_a_doubt_by_the_vendors_own_receipt(cast: Cast, vendor: Vendor) -> None:
    run, made = two_fit(vendor)
    desk.drive(run)
    page = cast.enters("sven")
    page.goto(f"/runs/{run.ref}/")
    page.get_by_role("link", name="Look at the evidence").click()
    expect(page.get_by_role("heading", name="Did this happen: Refund 23.40 EUR?")).to_be_visible()
    page.get_by_label(f"Candidate A {made[1]}").or_(page.get_by_label(f"Candidate B {made[1]}")).check()
    page.get_by_label("It happened", exact=False).first.check()
    page.get_by_label("How do you know?").fill("Made by our own key.")
    page.get_by_role("button", name="Record the verdict").click()
    expect(page.get_by_text("Recorded, under your name")).to_be_visible()
    desk.drive(run)
    assert (run.state, run.effects.get().receipt_id) == ("completed", made[1])


def test_of_a_large_doubt_one_person_proposes_and_the_open_page_of_another_hears_of_it(
    cast: Cast, vendor: Vendor, settings: Any
) -> None:
    settings.VERDICT_ALONE_LIMIT = 20
    run = desk.drive(two_fit(vendor)[0])
    key = run.effects.get().key
    sven, marta = cast.enters("sven"), cast.enters("marta")
    sven.goto("/doubts/")
    sven.get_by_role("link", name="Refund 23.40 EUR").click()
    other = cast.enters("sven")
    other.goto(f"/effects/{key}/")
    other.get_by_label("How do you know?").fill("half a sen")
    sven.get_by_role("radio", name="Candidate A").check()
    sven.get_by_role("radio", name="It happened").first.check()
    sven.get_by_label("How do you know?").fill("Made by our own key.")
    sven.get_by_role("button", name="Propose the verdict").click()
    expect(sven.get_by_text("Proposed, under your name.")).to_be_visible()
    expect(other.get_by_text("Sven Adler has proposed a verdict meanwhile: happened.")).to_be_visible()
    expect(other.get_by_label("How do you know?")).to_have_value("half a sen")
    marta.goto(f"/effects/{key}/")
    expect(marta.get_by_text("Sven Adler has proposed: happened")).to_be_visible()
    marta.get_by_role("radio", name="It happened").first.check()
    marta.get_by_label("How do you know?").fill("Their dashboard says so too.")
    marta.get_by_role("button", name="Record the verdict").click()
    expect(marta.get_by_text("Recorded, under your name")).to_be_visible()
    assert desk.drive(run).state == "completed"


def test_it_can_not_be_said_too_early_that_it_did_not_happen(cast: Cast, vendor: Vendor) -> None:
    desk.order(vendor)
    vendor.fault("garbage", form="other_amount", method="POST", path="/v1/refunds")
    run = desk.drive(desk.start())
    effect = run.effects.get()
    assert effect.state == "in doubt"
    page = cast.enters("sven")
    page.goto(f"/effects/{effect.key}/")
    expect(page.get_by_label("It did not happen")).to_be_disabled()
    expect(page.get_by_text("Too early: the request may still land. From")).to_be_visible()


def test_an_auditor_finds_an_effect_by_its_key_and_sees_who_said_yes(cast: Cast, vendor: Vendor) -> None:
    desk.order(vendor, amount="31.00")
    run = desk.drive(desk.start())
    page = cast.signs_in("rita")
    page.get_by_role("searchbox", name="Search").first.fill(f"{run.ref}:pay")
    page.keyboard.press("Enter")
    expect(page.get_by_text("1 of 1")).to_be_visible()
    page.get_by_role("link", name=f"{run.ref}:pay", exact=True).click()
    expect(page.get_by_role("heading", name="Refund 31.00 EUR")).to_be_visible()
    expect(page.get_by_role("main")).to_contain_text(vendor.book("payments")[0]["id"])
    expect(page.get_by_role("button", name="Record the verdict")).to_have_count(0)
    page.goto("/ledger/?q=8812")
    expect(page.get_by_role("link", name=f"{run.ref}:pay", exact=True)).to_be_visible()


def test_a_session_lost_under_an_open_page_leads_to_sign_in_and_back(cast: Cast, vendor: Vendor) -> None:
    run = waiting(vendor)
    page = cast.enters("sven")
    page.goto(f"/runs/{run.ref}/")
    Session.objects.all().delete()
    page.wait_for_url("**/sign-in/?next=*")
    sign_in(page, "sven")
    assert page.url.endswith(f"/runs/{run.ref}/")


def test_an_open_page_follows_the_run_and_says_when_it_can_not(
    cast: Cast, vendor: Vendor, watch: Watch
) -> None:
    watch.offline = True
    run = waiting(vendor)
    page = cast.enters("sven")
    page.goto(f"/runs/{run.ref}/")
    live = page.get_by_role("status").filter(has_text="Live")
    expect(live).to_be_visible()
    page.context.set_offline(True)
    expect(page.get_by_text("Connection lost, trying again")).to_be_visible()
    runs.hold(run.ref, actor="sven", reason="while nobody could see it")
    page.context.set_offline(False)
    expect(page.get_by_text("Held by Sven Adler")).to_be_visible()
    expect(live).to_be_visible()


def test_who_may_not_is_told_so_in_words(cast: Cast, vendor: Vendor, watch: Watch) -> None:
    watch.allowed = {404}
    run = waiting(vendor)
    page = cast.enters("rita")
    page.goto(f"/runs/{run.ref}/")
    for label in ("Hold", "Cancel", "Release"):
        expect(page.get_by_role("button", name=label)).to_have_count(0)
    page.goto("/runs/run-nowhere/")
    expect(page.get_by_role("heading", name="There is nothing here")).to_be_visible()
