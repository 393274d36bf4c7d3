"""A module of agents that can't be imported: everybody who would need it says which one it is, and why."""

from __future__ import annotations

import io
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import SystemCheckError

from approvals.queries import system
from durable import plan, runner
from durable.errors import UnknownAgent
from durable.models import Run
from tests.engine import agents

pytestmark = pytest.mark.django_db(transaction=True)

Break = Callable[[str], str]

MISDECLARED = """from durable.author import tool
@tool(reads=True, version=0)
def pay() -> None: ...
"""


@pytest.fixture
def broken(settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Break:
    """Write a module of agents with this source, name it in the settings, and return its name."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(plan, "_logged", set())

    def write(source: str) -> str:
        (tmp_path / "broken_desk.py").write_text(source)
        settings.INTERLOCK_AGENTS = ("broken_desk",)
        return "broken_desk"

    return write


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("import no_such_library", "ModuleNotFoundError: “No module named 'no_such_library'”"),
        ("x = 1\ndef broken(:", "SyntaxError: “invalid syntax (broken_desk.py, line 2)”"),
        (MISDECLARED, "Misdeclared: “tool pay: version must be 1 or more”"),
        ("raise RuntimeError('bad deploy\\nand more')", "RuntimeError: “bad deploy”"),
        ("raise RuntimeError", "RuntimeError"),
    ],
)
def test_the_sentence_names_setting_module_and_what_the_module_said(
    source: str, why: str, broken: Break
) -> None:
    broken(source)
    with pytest.raises(UnknownAgent) as told:
        plan.agents()
    assert str(told.value) == (
        f"agent: INTERLOCK_AGENTS names broken_desk, which can't be imported: {why}; mend it"
    )


def test_a_worker_logs_where_it_broke_once_and_that_it_drives_nothing_each_time(
    broken: Break, caplog: pytest.LogCaptureFixture
) -> None:
    run: Run = agents.start("Walker")
    broken("def pay():\n    raise RuntimeError('bad deploy')\npay()")
    assert not runner.drive(run.ref) and not runner.drive(run.ref)
    traced = [record for record in caplog.records if record.exc_info]
    assert len(traced) == 1 and traced[0].levelno == logging.ERROR
    assert 'broken_desk.py", line 2, in pay' in caplog.text
    assert caplog.text.count("nothing is driven") == 2


def test_the_check_names_it_as_an_error_and_no_other_command_is_refused_for_it(broken: Break) -> None:
    run: Run = agents.start("Walker")
    broken(MISDECLARED)
    with pytest.raises(SystemCheckError, match=r"broken_desk.*version must be 1 or more"):
        call_command("check")
    told = io.StringIO()
    call_command(
        "run", run.ref, "hold", "--reason", "look", "--actor", "olga", skip_checks=False, stdout=told
    )
    run.refresh_from_db()
    assert run.held


def test_the_system_page_says_the_sentence(broken: Break) -> None:
    broken(MISDECLARED)
    found = system.overview()
    told = [trouble.sentence for trouble in found["troubles"]]
    assert any("INTERLOCK_AGENTS names broken_desk" in one and "version must be 1" in one for one in told)
    assert not any("did not answer" in part.failing for part in found["parts"] if part.name == "Versions")
