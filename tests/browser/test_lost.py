"""What may get lost under somebody's hands: the sign-in, a right, the server. Never what they typed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from playwright.sync_api import Page, expect

from approvals.models import Decision, Gate
from durable import runs
from tests.browser.gateway import Gateway
from tests.browser.people import Cast, Watch, sign_in
from tests.engine import desk
from tests.vendors import Vendor

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

WORDS = "The parcel never came back."


@pytest.fixture
def gate(vendor: Vendor) -> Gate:
    """A refund that waits for people."""
    desk.order(vendor, amount="184.50")
    desk.drive(desk.start())
    return Gate.objects.get()


@pytest.fixture
def gateway(live_server: Any) -> Iterator[Gateway]:
    place = urlsplit(live_server.url)
    found = Gateway(str(place.hostname), int(place.port or 0))
    yield found
    found.shuts()


def begin_to_reject(page: Page, gate: Gate) -> None:
    page.goto(f"/gates/{gate.pk}/")
    page.keyboard.press("r")
    page.get_by_role("dialog", name="Reject").get_by_label("Reason").fill(WORDS)


def send(page: Page) -> None:
    page.get_by_role("dialog", name="Reject").get_by_role("button", name="Reject").click()


def test_a_sign_in_that_is_over_when_somebody_sends_costs_no_word(
    cast: Cast, gate: Gate, watch: Watch
) -> None:
    watch.allowed = {403}
    page = cast.enters("marta")
    begin_to_reject(page, gate)
    Session.objects.all().delete()
    send(page)
    expect(page.get_by_text("What you typed is kept")).to_be_visible()
    sign_in(page, "marta", lands=False)
    expect(page.get_by_label("Reason")).to_have_value(WORDS)
    assert not Decision.objects.exists()
    page.get_by_role("button", name="Send it").click()
    expect(page.get_by_text("Decided: rejected, Refund 184.50 EUR")).to_be_visible()
    assert Decision.objects.get().person.username == "marta"


def test_a_sign_in_that_ends_under_somebodys_hands_leads_them_away_from_nothing_they_have_typed(
    cast: Cast, vendor: Vendor, watch: Watch
) -> None:
    watch.allowed = {403}
    for name in ("1", "2"):
        desk.order(vendor, amount="120.00", name=name)
        desk.drive(desk.start(name))
    page = cast.enters("marta")
    page.clock.install()
    page.goto(f"/gates/{Gate.objects.order_by('id')[0].pk}/alike/")
    page.get_by_role("checkbox").first.check()
    page.get_by_label("Reason").fill(WORDS)
    Session.objects.all().delete()
    page.clock.run_for(6_000)
    expect(page.get_by_text("You are signed out. What you have typed is still here")).to_be_visible()
    page.get_by_role("button", name="Reject those ticked").click()
    sign_in(page, "marta", lands=False)
    expect(page.get_by_label("Reason")).to_have_value(WORDS)


def test_offline_a_form_is_not_sent_and_says_so(cast: Cast, gate: Gate, watch: Watch) -> None:
    watch.offline = True
    page = cast.enters("marta")
    begin_to_reject(page, gate)
    page.context.set_offline(True)
    send(page)
    expect(page.get_by_text("You are offline. Nothing was sent")).to_be_visible()
    page.context.set_offline(False)
    send(page)
    expect(page.get_by_text("Decided: rejected, Refund 184.50 EUR")).to_be_visible()


def test_who_signed_in_as_somebody_else_meanwhile_is_told_before_anything_is_sent(
    cast: Cast, gate: Gate, watch: Watch
) -> None:
    watch.allowed = {403}
    first = cast.signs_in("marta")
    begin_to_reject(first, gate)
    second = first.context.new_page()
    second.goto("/gates/")
    second.get_by_role("button", name="Sign out").click()
    sign_in(second, "jonas")
    send(first)
    expect(first.get_by_text("You are signed in as Jonas Okafor")).to_be_visible()
    assert not Decision.objects.exists()
    first.get_by_role("button", name="Send it").click()
    expect(first.get_by_text("Decided: rejected, Refund 184.50 EUR")).to_be_visible()
    assert Decision.objects.get().person.username == "jonas"


def test_back_after_a_decision_shows_a_whole_page_on_which_it_is_decided(cast: Cast, gate: Gate) -> None:
    page = cast.enters("marta")
    page.goto("/gates/")
    page.get_by_role("link", name="Refund 184.50 EUR").click()
    page.get_by_role("button", name="Approve").click()
    expect(page.get_by_text("Decided: approved, Refund 184.50 EUR")).to_be_visible()
    page.go_back()
    expect(page.get_by_text("Approved by Marta Oliveira").first).to_be_visible()
    expect(page.get_by_role("navigation", name="Console")).to_be_visible()
    expect(page.get_by_role("button", name="Approve")).to_have_count(0)
    page.go_forward()
    expect(page.get_by_text("Nothing waits").first).to_be_visible()


def test_a_page_whose_reader_lost_the_right_asks_no_more(cast: Cast, gate: Gate, watch: Watch) -> None:
    watch.allowed = {403}
    page = cast.enters("sven")
    page.clock.install()
    page.goto(f"/runs/{gate.effect.run.ref}/")
    User.objects.get(username="sven").groups.clear()
    page.clock.run_for(2_500)
    expect(page.get_by_text("No longer live: reload")).to_be_visible()
    asked = len(watch.asked)
    page.clock.run_for(30_000)
    assert len(watch.asked) == asked


def test_a_server_that_is_gone_is_said_and_when_it_is_back_the_page_goes_on(
    cast: Cast, gate: Gate, gateway: Gateway, watch: Watch
) -> None:
    watch.offline = True
    page = cast.enters("sven", base_url=f"http://127.0.0.1:{gateway.port}")
    page.goto(f"/runs/{gate.effect.run.ref}/")
    expect(page.get_by_role("status").filter(has_text="Live")).to_be_visible()
    gateway.shuts()
    expect(page.get_by_text("Connection lost, trying again")).to_be_visible()
    runs.hold(gate.effect.run.ref, actor="sven", reason="while the server was away")
    gateway.opens()
    expect(page.get_by_text("Held by Sven Adler")).to_be_visible()
    expect(page.get_by_role("status").filter(has_text="Live")).to_be_visible()


def test_a_page_says_live_only_where_its_content_asks_again_and_a_lost_connection_anywhere(
    cast: Cast, gate: Gate, gateway: Gateway, watch: Watch
) -> None:
    watch.offline = True
    page = cast.enters("sven", base_url=f"http://127.0.0.1:{gateway.port}")
    sign = page.locator("#live")
    page.goto("/today/in-flight/")
    expect(sign).to_be_visible()
    page.goto("/time-zone/")
    expect(sign).to_be_hidden()
    gateway.shuts()
    expect(sign).to_have_text("Connection lost, trying again")
    expect(sign).to_be_visible()
    gateway.opens()
    expect(sign).to_be_hidden()


def test_a_table_that_is_open_is_not_closed_by_what_comes(cast: Cast, gate: Gate, watch: Watch) -> None:
    page = cast.enters("rita")
    page.clock.install()
    page.goto("/refunds/")
    page.get_by_text("As a table").first.click()
    runs.hold(gate.effect.run.ref, actor="sven", reason="something comes")
    before = [url for url in watch.asked if "/refunds/?" in url]
    page.clock.run_for(6_500)
    assert [url for url in watch.asked if "/refunds/?" in url] == before
    expect(page.locator("details.behind[open]")).to_have_count(1)
    page.get_by_text("As a table").first.click()
    with page.expect_response(lambda answer: "/refunds/?" in answer.url and answer.status == 200):
        page.clock.run_for(2_500)


def test_an_admin_sees_how_things_stand_and_is_offered_no_act(cast: Cast, gate: Gate, watch: Watch) -> None:
    watch.allowed = {403}
    page = cast.signs_in("ada")
    expect(page.get_by_role("heading", name="Today")).to_be_visible()
    page.get_by_role("navigation", name="Console").get_by_role("link", name="Tools").click()
    expect(page.get_by_role("heading", name="Tools")).to_be_visible()
    for path in (f"/gates/{gate.pk}/", f"/runs/{gate.effect.run.ref}/", f"/effects/{gate.effect.key}/"):
        page.goto(path)
        for label in ("Approve", "Reject", "Hold", "Cancel", "Record the verdict"):
            expect(page.get_by_role("button", name=label, exact=True)).to_have_count(0)
    User.objects.get(username="ada").groups.clear()
    page.goto("/ledger/")
    expect(page.get_by_text("It needs the right to read the ledger")).to_be_visible()
    expect(page.get_by_role("button", name="Sign out")).to_be_visible()


def test_letters_stand_on_the_page_as_they_were_written(cast: Cast) -> None:
    page = cast.stranger()
    page.goto("/sign-in/")
    width = """features => {
        const word = document.querySelector('h1').appendChild(document.createElement('span'));
        word.textContent = '1x6 2x3 -> !='; word.style.fontFeatureSettings = features;
        const found = word.getBoundingClientRect().width; word.remove(); return found }"""
    page.evaluate("document.fonts.ready")
    plain, off, on = (page.evaluate(width, one) for one in ("normal", '"calt" 0', '"calt" 1'))
    assert plain == off != on
