"""Pages with much on them: 200 gates, hostile words; axe in both themes, nothing sideways at three widths."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from playwright.sync_api import Page

from approvals.models import Gate
from local.demodata import load
from local.demodata.cast import plan
from tests.browser.people import Cast, Watch, look_at
from tests.browser.test_axe import BEHIND, RETENTION, scenes, violations
from tests.vendors import Vendor

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True, databases=["default", "owner"])]

WIDTHS = (1280, 768, 390)
#: What should be where it is drawn: nothing lies over it.
COVERED = """() => {
  scrollTo(0, 0);
  return [...document.querySelectorAll("main h1, main input[type=search]")].filter((one) => {
    const box = one.getBoundingClientRect();
    const there = document.elementFromPoint(box.left + 6, box.top + box.height / 2);
    return box.width && box.top < innerHeight && !one.contains(there);
  }).map((one) => one.outerHTML.slice(0, 80));
}"""

#: Cells of which a narrow screen is spared: they would stand there without their column's name.
STRAY = """() => innerWidth > 1023 ? [] : [...document.querySelectorAll("table .wide")]
  .filter((one) => one.checkVisibility()).map((one) => one.outerHTML.slice(0, 80))"""

#: Tables that are broader than the room that they are given.
CUT = """() => [...document.querySelectorAll("main .scroll")].filter((one) => one.scrollWidth > one.clientWidth)
  .map((one) => `${one.ariaLabel}: ${one.scrollWidth} in ${one.clientWidth}`)"""

#: At a page's end: a bar of acts that leaves the window, a line below the page that lies on something else.
FOOT = """() => {
  scrollTo(0, document.documentElement.scrollHeight);
  const seen = (name) => [...document.querySelectorAll(name)].filter((one) => one.checkVisibility());
  const bars = seen(".act-bar").filter((one) => one.getBoundingClientRect().bottom > innerHeight + 1);
  const lines = seen("main .zone").filter((one) => {
    const box = one.getBoundingClientRect();
    return seen("main .item, main td, main .btn").some((other) => {
      const its = other.getBoundingClientRect();
      return its.top < box.bottom - 1 && box.top < its.bottom - 1 && its.left < box.right && box.left < its.right;
    });
  });
  scrollTo(0, 0);
  return [...bars, ...lines].map((one) => one.outerHTML.slice(0, 80));
}"""


def shown_badly(page: Page) -> list[str]:
    """What is wrong with the page as it stands: at every width where things are, and what axe says of both themes.

    A theme changes colours alone, and a width changes places alone; each is looked at for that.
    """
    found = []
    page.emulate_media(color_scheme="light")
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
            found.append(f"{page.url}: wider than {width}")
        found += [f"{page.url}: covered at {width}: {one}" for one in page.evaluate(COVERED)]
        found += [f"{page.url}: left over at {width}: {one}" for one in page.evaluate(STRAY)]
        found += [f"{page.url}: at the foot at {width}: {one}" for one in page.evaluate(FOOT)]
    found += [f"narrow: {line}" for line in violations(page, "narrow")]
    page.set_viewport_size({"width": WIDTHS[0], "height": 900})
    found += [f"{page.url}: cut: {one}" for one in page.evaluate(CUT)]
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
        found += [f"{theme}: {line}" for line in violations(page, theme)]
    return found


def test_no_page_breaks_a_rule_or_leaves_its_window(cast: Cast, vendor: Vendor, watch: Watch) -> None:
    load.fill(load.Order(plan(runs=260, gates=200, seed=1), 1, 0.5, datetime.now(UTC)), lambda line: None)
    lists, gates, details = scenes(vendor)
    assert Gate.objects.filter(state="open").count() > 150
    stranger = cast.stranger()
    watch.allowed = {404}
    answer = stranger.goto("/nowhere/")
    assert answer is not None and answer.status == 404
    found = shown_badly(stranger)
    watch.allowed = set()
    for who, paths in (
        (stranger, ["/sign-in/"]),
        (cast.enters("sven"), ["/", "/system/", *BEHIND, *lists, *details]),
        (cast.enters("marta"), ["/?period=7d", "/gates/", gates[0], *gates[-3:]]),
        (cast.enters("ada"), ["/", "/log/", *RETENTION]),
    ):
        for path in paths:
            look_at(who, path)
            found += shown_badly(who)
    assert found == []
