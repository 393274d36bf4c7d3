"""An auditor takes away what a search has found, and reads days as they are at home."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from approvals.exports import orders, work
from approvals.models import Export
from tests import factories
from tests.browser.people import Cast
from tests.browser.test_axe import violations

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_an_auditor_exports_what_a_search_found_and_has_a_file_that_is_whole(
    cast: Cast, settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.INTERLOCK_EXPORTS = str(tmp_path / "exports")
    monkeypatch.setattr(orders, "announce", lambda pk: None)
    gate = factories.gate(amount="184.50")
    factories.gate(amount="120")
    page = cast.enters("rita", accept_downloads=True)
    page.goto("/ledger/?q=amount:>=150")
    page.get_by_role("link", name="Export", exact=True).click()
    expect(page.get_by_role("heading", name="Export: ledger")).to_be_visible()
    assert violations(page) == []
    page.get_by_role("button", name="Make it: 1 row").click()
    expect(page.get_by_text("Asked", exact=True).last).to_be_visible()
    work.carry_on(Export.objects.get().pk)
    for _ in range(2):  # the page shows by itself that it is made, and gives it out as often as one likes
        with page.expect_download() as waiting:
            page.get_by_role("button", name="Download").click()
    assert re.fullmatch(r"interlock-ledger-\d{8}T\d{6}Z-1-rows\.csv", waiting.value.suggested_filename)
    with Path(waiting.value.path()).open(encoding="utf-8-sig", newline="") as file:
        (row,) = csv.DictReader(file)
    assert (row["key"], row["amount"], row["currency"]) == (gate.effect.key, "184.50", "EUR")
    assert violations(page) == []
    at_home(page)


def at_home(page: Page) -> None:
    page.get_by_role("link", name="UTC").click()
    page.get_by_label("Show moments").select_option("Australia/Lord_Howe")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Days and times are now those of Australia/Lord_Howe")).to_be_visible()
    assert violations(page) == []
    page.goto("/exports/")
    expect(page.get_by_role("link", name="Australia/Lord_Howe")).to_be_visible()
