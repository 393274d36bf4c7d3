"""Two admins let a person be forgotten: found, looked at, confirmed by name, agreed to, and seen through."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from durable import erasing
from durable.models import Erasure, Run
from tests.browser.people import Cast
from tests.browser.test_full import shown_badly
from tests.engine import desk
from tests.vendors import Vendor

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def looked(page: Page) -> None:
    """Find the person by all names, up to what an erasure would do."""
    page.goto("/erasures/")
    page.get_by_label("Every name by which they are known").fill("order:8812\norder:8813")
    page.get_by_role("button", name="See what would be erased").click()
    expect(page.get_by_role("heading", name="What would be erased")).to_be_visible()


def confirmed(page: Page, button: str) -> None:
    """Say why, type the name once more, and ask."""
    page.get_by_label("Why", exact=True).select_option("the person asked for it")
    page.get_by_label("Number of the request").fill("T-77")
    page.get_by_label("Type the first name once more").fill("8812")
    page.get_by_role("button", name=button).click()
    expect(page.get_by_role("heading", name="Erasure", level=1)).to_be_visible()


def test_two_admins_find_a_person_see_what_would_go_and_have_it_erased(cast: Cast, vendor: Vendor) -> None:
    desk.order(vendor, amount="40.00", name="8812")
    run = desk.drive(desk.start("8812", text="It arrived broken. Ann"))
    desk.order(vendor, amount="140.00", name="8813")
    waits = desk.drive(desk.start("8813"))
    page = cast.enters("ada")
    page.goto("/erasures/")
    bad = shown_badly(page)
    looked(page)
    assert "8812" not in page.url
    expect(page.get_by_text(f"Not yet: {waits.ref} is suspended.")).to_be_visible()
    bad += shown_badly(page)
    confirmed(page, "Ask to erase 2 runs for ever")
    expect(page.get_by_text("Nothing is erased yet: another person must agree.")).to_be_visible()
    bad += shown_badly(page)
    assert list(erasing.due()) == []
    page = cast.enters("noor")
    looked(page)
    expect(page.get_by_text("Ada Lindqvist has asked for this")).to_be_visible()
    confirmed(page, "Erase 2 runs for ever")
    erasing.carry_on(Erasure.objects.get().pk)
    expect(page.get_by_text("1 of 2 runs erased")).to_be_visible()
    bad += shown_badly(page)
    page.goto(f"/runs/{run.ref}/")
    expect(page.get_by_text("The personal data of this run was erased on")).to_be_visible()
    assert bad == [] and Run.objects.get(pk=run.pk).input == {}
