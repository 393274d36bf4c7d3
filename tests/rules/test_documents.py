"""What the documents say and a machine can check: links, commands, the arrows of the two diagrams."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from django.core.management import get_commands
from django.db import connection

from durable import journal
from durable.models import Run
from durable.states import EFFECT_MOVES, RUN_MOVES, EventKind
from tests.factories import running

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()
DOCUMENTS = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]


def diagrams() -> list[set[tuple[str, str]]]:
    """The arrows of each diagram in the README, as pairs of states."""
    found = []
    for block in re.findall(r"```mermaid\n(.*?)```", README, re.DOTALL):
        words = {short: word for word, short in re.findall(r'state "(.*?)" as (\w+)', block)}
        arrows = re.findall(r"(\w+) --> (\w+): \w", block)
        found.append({(words.get(one, one), words.get(two, two)) for one, two in arrows})
    return found


def moves(table: Mapping[Any, frozenset[Any]]) -> set[tuple[str, str]]:
    return {(one.value, two.value) for one, following in table.items() for two in following}


def test_the_diagram_of_a_run_shows_every_legal_move_and_no_other() -> None:
    assert diagrams()[0] == moves(RUN_MOVES)


def test_the_diagram_of_an_effect_shows_every_legal_move_and_no_other() -> None:
    assert diagrams()[1] == moves(EFFECT_MOVES)


def recipe(table: str) -> Any:
    """The function that the page about the ledger gives its readers, reading `table`."""
    (written,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs/ledger.md").read_text(), re.DOTALL)
    found: dict[str, Any] = {}
    exec(written.replace("durable_ledgerevent", table), found)
    return found["broken"]


@pytest.mark.django_db
def test_the_recipe_for_a_chain_finds_the_event_that_was_changed() -> None:
    run = Run.objects.get(ref=running().run_ref)
    for kind in (EventKind.HELD, EventKind.RELEASED, EventKind.HELD):
        journal.record(run, kind, actor="olga", words="to see")
    second = journal.events(run.ref)[1].no
    with connection.cursor() as cursor:
        cursor.execute("CREATE TEMPORARY TABLE forged ON COMMIT DROP AS SELECT * FROM durable_ledgerevent")
        cursor.execute(
            "UPDATE forged SET actor = 'mallory' WHERE run_ref = %s AND no = %s", [run.ref, second]
        )

    assert recipe("durable_ledgerevent")(run.ref) == 0
    assert recipe("forged")(run.ref) == second


def anchors(text: str) -> set[str]:
    """What links to the headings of a page end in: small letters, hyphens for spaces, nothing of other signs."""
    headings = re.findall(r"^#+ +(.+?) *$", re.sub(r"^```.*?^```", "", text, flags=re.M | re.S), re.MULTILINE)
    bare = [re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading) for heading in headings]
    names = [re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in bare]
    seen: Counter[str] = Counter()
    found = set()
    for name in names:
        found.add(f"{name}-{seen[name]}" if seen[name] else name)
        seen[name] += 1
    return found


def astray(page: Path, text: str) -> list[str]:
    """The links of a page that lead to no file of ours, or to no heading of it."""
    lost = []
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        file, _, anchor = link.partition("#")
        target = page.parent / file if file else page
        if "://" not in link and (
            not target.exists() or (anchor and anchor not in anchors(target.read_text()))
        ):
            lost.append(link)
    return lost


@pytest.mark.parametrize("page", DOCUMENTS, ids=lambda page: page.name)
def test_every_link_leads_somewhere(page: Path) -> None:
    assert astray(page, page.read_text()) == []


def test_a_link_to_a_page_or_a_heading_that_is_not_there_is_noticed() -> None:
    here = ROOT / "docs/log.md"
    text = "[a](none.md) [b](ledger.md#none) [c](#none) [d](ledger.md#the-chain) [e](#finding) [f](https://a.example/#b)"

    assert astray(here, text) == ["none.md", "ledger.md#none", "#none"]
    assert anchors("## Two `words`, [a link](x.md)\n```sh\n# no heading\n```\n# Same\n# Same\n") == {
        "two-words-a-link",
        "same",
        "same-1",
    }


def test_the_readme_leads_to_every_page() -> None:
    links = set(re.findall(r"\]\((docs/[^)#]+\.md)", README))

    assert sorted(str(page.relative_to(ROOT)) for page in DOCUMENTS[2:]) == sorted(links)


@pytest.mark.parametrize("page", DOCUMENTS, ids=lambda page: page.name)
def test_every_command_exists(page: Path) -> None:
    text = page.read_text()
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))

    assert set(re.findall(r"manage\.py ([a-z_]+)", text)) - get_commands().keys() == set()
    assert set(re.findall(r"`make ([a-z]+)", text)) - targets == set()
