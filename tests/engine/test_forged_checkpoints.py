"""Stored data that pretends to be code: a pickle, a constructor's envelope, a class path. Nothing of it is imported."""

from __future__ import annotations

import base64
import pickle
import sys
from pathlib import Path
from typing import Any

import pytest

from durable import journal
from durable.author import Next, RunContext, step
from durable.models import Checkpoint, Frozen, Message, Run, Wait
from durable.states import RunState
from tests.engine import agents, desk

pytestmark = pytest.mark.django_db(transaction=True)

#: A module that says so when it is imported.
TRAP = "forged_by_a_checkpoint"


class Bomb:
    """Says so when it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return exec, (f"open({str(self.mark)!r}, 'w').close()",)


@pytest.fixture
def mark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Is there once anything forged has run; the trap can be imported by its name."""
    found = tmp_path / "ran"
    code = f"open({str(found)!r}, 'w').close()\nclass Boom:\n    def __init__(self, **words): pass\n"
    (tmp_path / f"{TRAP}.py").write_text(code)
    monkeypatch.syspath_prepend(str(tmp_path))
    return found


def forged(mark: Path) -> dict[str, Any]:
    """What loaders of other products have rebuilt objects from."""
    blob = base64.b64encode(pickle.dumps(Bomb(mark))).decode()
    return {
        "pickle": blob,
        "typed": ["pickle", blob],
        "envelope": {"lc": 1, "type": "constructor", "id": [TRAP, "Boom"], "kwargs": {}},
        "class": {"__class__": f"{TRAP}.Boom", "args": []},
        "reduce": {"py/reduce": [{"py/function": f"{TRAP}.Boom"}, {"py/tuple": []}]},
        "object": {"py/object": f"{TRAP}.Boom"},
        "json_plus": {"lc": 2, "type": "constructor", "id": [TRAP, "Boom"], "method": [None], "args": []},
        "path": f"{TRAP}:Boom",
        "tag": f"!!python/object/apply:{TRAP}.Boom []",
    }


def loops(times: int, seen: list[Any]) -> Run:
    """A run of several steps that hands on what it finds; driven no further than its first checkpoint."""

    @step
    def turn(self: Any, run: RunContext) -> Next:
        price = run.call(agents.read_price, sku="MUG")
        seen.append((run.state.get("forged"), price, [one["content"] for one in run.messages]))
        run.state["turns"] = run.state.get("turns", 0) + 1
        following: Next = self.turn if run.state["turns"] < times else None
        return following

    return agents.run_of(turn)


def test_what_pretends_to_be_code_in_a_checkpoint_is_plain_data_to_whoever_resumes(mark: Path) -> None:
    seen: list[Any] = []
    run, wrong = loops(2, seen), forged(mark)
    Checkpoint.objects.filter(run=run).update(state={"turns": 1, "forged": wrong}, message_count=1)
    assert run.branch is not None
    Message.objects.create(branch=run.branch, no=1, role="customer", content=wrong)
    Run.objects.filter(pk=run.pk).update(message_count=1)
    desk.drive(run)
    assert run.state == RunState.COMPLETED
    assert [(found, said) for found, _, said in seen] == [(wrong, [wrong])]
    newest = Checkpoint.objects.filter(run=run).exclude(state=None).latest("version")
    assert newest.state["forged"] == wrong
    assert not mark.exists() and TRAP not in sys.modules


def test_what_pretends_to_be_code_in_a_frozen_result_is_plain_data_too(mark: Path) -> None:
    seen: list[Any] = []

    @step(retries=1)
    def look(self: Any, run: RunContext) -> Next:
        seen.append(run.call(agents.read_price, sku="MUG"))
        if len(seen) == 1:
            raise ValueError("once more")
        return None

    run, wrong = agents.run_of(look), forged(mark)
    desk.drive(run)
    assert Frozen.objects.filter(run=run).update(result=wrong) == 1
    desk.time_passes(seconds=30)
    desk.drive(run)
    assert seen[1] == wrong and run.state == RunState.COMPLETED
    assert not mark.exists() and TRAP not in sys.modules


@pytest.mark.parametrize("step_name", [f"{TRAP}.Boom", f"{TRAP}:Boom", "__init__", "input", "os.system"])
def test_a_class_path_for_a_step_is_refused_before_a_person_and_the_ledger_says_so(
    mark: Path, step_name: str
) -> None:
    run = loops(2, [])
    Checkpoint.objects.filter(run=run).update(next_step=step_name)
    desk.drive(run)
    wait = Wait.objects.get(run=run, state="open")
    assert (run.state, wait.name) == (RunState.SUSPENDED, "code incompatible")
    assert step_name in wait.detail["sentence"]
    assert "attention" in [event.kind for event in journal.events(run.ref)]
    assert not mark.exists() and TRAP not in sys.modules


def test_the_trap_works(mark: Path) -> None:
    wrong = forged(mark)
    pickle.loads(base64.b64decode(wrong["pickle"]))  # what no code of the product may do
    assert mark.exists()
    mark.unlink()
    __import__(TRAP)
    assert mark.exists()
    del sys.modules[TRAP]
