"""Lists of the documents that claim to be whole: settings, rights, kinds of acts, figures, options, measures."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from django.core.management import get_commands, load_command_class
from django.core.management.base import BaseCommand

from approvals.capabilities import PERMISSIONS, ROLES
from approvals.log_query import KINDS
from durable.states import EventKind
from tests.bench.measures import MEASURES

ROOT = Path(__file__).resolve().parents[2]
OPERATIONS = (ROOT / "docs/operations.md").read_text()
LOG = (ROOT / "docs/log.md").read_text()
BENCHMARK = (ROOT / "docs/benchmark.md").read_text()
ALL = "".join(page.read_text() for page in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")])

#: Read by readers of the environment, or by Python itself where settings are not there yet.
READERS = re.compile(r"env_(str|list|int|bool|seconds|secret|url|key|zone)")
#: Read elsewhere than in the settings module.
ELSEWHERE = {"INTERLOCK_DATA", "PGBIN"}


def table(text: str, head: str) -> list[list[str]]:
    """The rows, cell by cell, of the table that begins with these words."""
    (found,) = re.findall(rf"^\| {head} \|.*\n\|[-| ]+\n((?:\|.*\n)+)", text, re.MULTILINE)
    return [[cell.strip() for cell in row[1:-1].split("|")] for row in found.splitlines()]


def settings_read() -> Iterator[str]:
    """The name of every variable that the settings read."""
    for node in ast.walk(ast.parse((ROOT / "durable/settings.py").read_text())):
        match node:
            case ast.Call(func=ast.Name(id=reader), args=[ast.Constant(value=str(name)), *_]):
                if READERS.fullmatch(reader):
                    yield name


def sources(*places: str) -> Iterator[str]:
    """The text of every module in these folders."""
    for place in places:
        yield from (path.read_text() for path in sorted((ROOT / place).rglob("*.py")))


def test_the_table_of_settings_names_every_setting_and_no_other() -> None:
    named = [name.strip("`") for name, *_ in table(OPERATIONS, "variable")]

    assert len(set(settings_read())) > 20
    assert sorted(named) == sorted({*settings_read(), *ELSEWHERE})


def test_the_table_of_rights_says_which_role_brings_which() -> None:
    said = {right: [bool(cell) for cell in cells] for right, *cells in table(OPERATIONS, "right")}

    assert "| right | reviewer | operator | auditor | admin |" in OPERATIONS
    assert list(ROLES) == ["reviewer", "operator", "auditor", "admin"]
    assert said == {str(words): [code in ROLES[role] for role in ROLES] for code, words in PERMISSIONS}


def test_the_page_about_the_ledger_names_every_kind_of_event() -> None:
    text = (ROOT / "docs/ledger.md").read_text()

    assert [kind.value for kind in EventKind if f"*{kind.value}*" not in text] == []


def test_the_page_about_the_log_names_every_kind_of_act() -> None:
    assert len(KINDS) > 60
    assert [kind for kind in KINDS.values() if f"*{kind}*" not in LOG] == []


def test_the_page_about_the_log_finds_acts_by_every_kind_of_object() -> None:
    made = {
        kind for text in sources("durable", "approvals") for kind in re.findall(r'\babout\("(\w+)"', text)
    }
    chains = set(re.findall(r"`(\w+):\d+`", "".join(row[1] for row in table(LOG, "object"))))

    assert {"gate", "person"} <= made and {"person", "erasure", "statement"} <= chains
    assert [kind for kind in sorted(made | chains) if f"`about:{kind}:" not in LOG] == []


def test_the_table_of_figures_names_every_figure_and_no_other() -> None:
    given = set(re.findall(r'"(interlock_[a-z_]+)"', (ROOT / "approvals/metrics.py").read_text()))
    named = [name for row in table(OPERATIONS, "figure") for name in re.findall(r"`(interlock_\w+)", row[0])]

    assert len(given) > 20
    assert sorted(named) == sorted(given)


def ours() -> dict[str, BaseCommand]:
    """The commands that the product adds to Django's."""
    apps = {name: app for name, app in get_commands().items() if app in ("durable", "approvals")}
    return {
        name: load_command_class(str(app), name)
        for name, app in apps.items()
        if name not in ("check", "migrate")
    }


def test_every_option_of_a_command_is_named_in_the_documents() -> None:
    django = {option for one in BaseCommand().create_parser("", "")._actions for option in one.option_strings}
    options = {
        f"{name} {option}"
        for name, command in ours().items()
        for one in command.create_parser("manage.py", name)._actions
        for option in one.option_strings
        if option.startswith("--") and option not in django
    }

    assert "erase --thoroughly" in options
    assert sorted(one for one in options if not re.search(rf"{one.split()[1]}(?![\w-])", ALL)) == []


def test_the_page_about_erasing_names_every_option_of_the_command() -> None:
    text = (ROOT / "docs/erasure.md").read_text()
    parser = ours()["erase"].create_parser("manage.py", "erase")
    own = set(re.findall(r'"(--[a-z]+)"', (ROOT / "approvals/management/commands/erase.py").read_text()))
    choices = {option: one.choices for one in parser._actions for option in one.option_strings if one.choices}

    assert [option for option in sorted(own) if option not in text] == []
    assert [
        one for one in [*choices["--reason"], *choices["--others"]] if not re.search(rf"\b{one}\b", text)
    ] == []


def test_the_table_of_measures_names_every_measure_and_no_other() -> None:
    named = [name for row in table(BENCHMARK, "name") for name in re.findall(r"`([a-z-]+)`", row[0])]

    assert sorted(named) == sorted(MEASURES)


def test_the_page_about_the_benchmark_names_every_variable_that_changes_it() -> None:
    read = {
        name for text in sources("tests/bench") for name in re.findall(r'environ\.get\("(BENCH_\w+)"', text)
    }

    assert {"BENCH_EXPORTED", "BENCH_QUICK"} <= read
    assert [name for name in sorted(read) if name not in BENCHMARK] == []
