"""A server that goes away under somebody's hands: its process is killed, and later another one is there."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from approvals.models import Decision, Gate
from durable.models import LedgerEvent
from durable.states import ActKind
from tests import factories
from tests.browser.people import Cast, Watch
from tests.browser.server import Server
from tests.browser.test_lost import WORDS, begin_to_reject, send

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

#: A process that starts takes its time on a busy machine, in milliseconds.
BACK = 30_000


@pytest.fixture
def server() -> Iterator[Server]:
    found = Server()
    yield found
    found.is_killed()


@pytest.fixture
def marta(cast: Cast, server: Server, watch: Watch) -> Page:
    """A reviewer's page, whose server will be gone."""
    watch.offline = True
    return cast.enters("marta", base_url=server.url)


def is_live(page: Page) -> None:
    expect(page.get_by_role("status").filter(has_text="Live")).to_be_visible(timeout=BACK)


def test_what_is_sent_to_a_server_that_was_killed_stays_on_the_page_until_it_can_be_sent(
    marta: Page, server: Server
) -> None:
    gate = factories.gate()
    begin_to_reject(marta, gate)
    server.is_killed()
    send(marta)
    told = marta.get_by_role("alert").filter(has_text="The server does not answer. Nothing was sent")
    expect(told).to_be_visible()
    expect(told).to_contain_text("what you have typed is still here")
    expect(marta.get_by_role("dialog", name="Reject").get_by_label("Reason")).to_have_value(WORDS)
    server.starts()
    is_live(marta)
    expect(told).to_have_count(0)
    assert not Decision.objects.exists()
    send(marta)
    expect(marta.get_by_text("Decided: rejected, Pay out 184.50 EUR")).to_be_visible()
    assert Decision.objects.count() == 1


def test_a_click_that_decides_is_not_sent_by_itself_when_the_server_is_back(
    marta: Page, server: Server
) -> None:
    gate = factories.gate()
    marta.goto(f"/gates/{gate.pk}/")
    server.is_killed()
    marta.get_by_role("button", name="Approve").click()
    expect(marta.get_by_text("The server does not answer. Nothing was sent")).to_be_visible()
    server.starts()
    is_live(marta)
    expect(marta.get_by_role("button", name="Approve")).to_be_enabled()
    assert not Decision.objects.exists()


def test_what_was_asked_for_while_the_server_was_gone_comes_by_itself(marta: Page, server: Server) -> None:
    gate = factories.gate(note="x" * 5_000)
    marta.goto(f"/gates/{gate.pk}/")
    server.is_killed()
    marta.get_by_role("link", name="Open all of the payload first").click()
    expect(marta.get_by_text("What you have asked for comes by itself once it is back")).to_be_visible()
    server.starts()
    expect(marta.get_by_role("button", name="Approve")).to_be_visible(timeout=BACK)
    is_live(marta)


def test_a_link_to_a_server_that_is_known_to_be_gone_leaves_the_page_where_it_is(
    marta: Page, server: Server
) -> None:
    gate = factories.gate()
    marta.goto(f"/gates/{gate.pk}/")
    server.is_killed()
    expect(marta.get_by_text("Connection lost, trying again")).to_be_visible()
    marta.get_by_role("navigation", name="Console").get_by_role("link", name="Today").click()
    expect(marta.get_by_text("You are still on the same page")).to_be_visible()
    expect(marta.get_by_role("heading", name="Pay out 184.50 EUR", level=1)).to_be_visible()
    server.starts()
    is_live(marta)
    marta.get_by_role("navigation", name="Console").get_by_role("link", name="Today").click()
    expect(marta.get_by_role("heading", name="Today")).to_be_visible()


def test_one_click_sends_a_form_once_however_it_is_asked_first_whether_anybody_answers(
    marta: Page, server: Server
) -> None:
    gate = factories.gate()
    marta.goto(f"/gates/{gate.pk}/")
    sent: list[str] = []
    marta.on("request", lambda request: sent.append(request.url) if request.method == "POST" else None)
    marta.get_by_role("button", name="Approve").dblclick()
    expect(marta.get_by_text("Decided: approved")).to_be_visible()
    assert len(sent) == 1 and Decision.objects.count() == 1
    assert not LedgerEvent.objects.filter(kind=ActKind.REFUSED.value).exists()
    assert Gate.objects.get().state == "approved"
