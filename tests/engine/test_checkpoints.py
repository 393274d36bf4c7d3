"""Checkpoints: what a process with nothing but the database needs to go on, stored once."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from durable import checkpoints, claims, faults
from durable.models import Checkpoint, Frozen, Message, Run
from durable.states import RunState
from tests.engine import agents, desk
from tests.engine.scenes import Killed, die

pytestmark = pytest.mark.django_db(transaction=True)
ROOT = Path(__file__).resolve().parents[2]

#: What a worker on an empty machine has: the code, and the database's address.
FRESH = """
import django
django.setup()
import sys
from durable import runner
assert runner.drive(sys.argv[1])
"""


def elsewhere(run: Run, **more: str) -> Run:
    """Let a fresh process drive the run."""
    name = connection.settings_dict["NAME"]
    address = os.environ["DATABASE_URL"].rpartition("/")[0] + f"/{name}"
    environment = os.environ | {
        "DJANGO_SETTINGS_MODULE": "durable.settings",
        "DATABASE_URL": address,
        "INTERLOCK_AGENTS": "tests.engine.agents",
        **more,
    }
    subprocess.run([sys.executable, "-c", FRESH, run.ref], cwd=ROOT, env=environment, check=True, timeout=60)
    run.refresh_from_db()
    return run


def test_a_fresh_process_goes_on_with_nothing_but_the_database(tmp_path: Path) -> None:
    run = agents.start("Walker")
    faults.arm("checkpoint.after_commit", die)
    with pytest.raises(Killed):
        desk.drive(run)
    assert [what for what, _ in agents.asked] == ["price", "model"]
    desk.time_passes(minutes=5)
    elsewhere(run, INTERLOCK_TEST_NOTES=str(tmp_path / "notes"))
    assert run.state == RunState.COMPLETED
    assert run.result["price"] == 1
    assert run.result["plan"] == "thought 2"
    assert run.result["said"] == ["Where is my money?", "On its way."]
    assert run.budget.tokens_used == 10
    assert run.budget.steps_used == 3
    word, pid = json.loads((tmp_path / "notes").read_text())
    assert word == "act" and pid != os.getpid()


def test_a_fresh_process_is_answered_from_the_record_inside_a_step() -> None:
    run = agents.start("Minder")
    faults.arm("end.before_commit", die)
    with pytest.raises(Killed):
        desk.drive(run)
    assert Frozen.objects.filter(run=run).count() == 3
    desk.time_passes(seconds=30)
    elsewhere(run)
    # Another process would have had its own first thought: "thought 1".
    assert run.result == "thought 2"
    assert run.budget.tokens_used == 10


def test_a_checkpoint_holds_all_five_parts() -> None:
    run = desk.drive(agents.start("Walker"))
    acted = Checkpoint.objects.get(run=run, step="act")
    assert acted.state == {"price": 1, "plan": "thought 2", "receipt": f"re_{run.ref}:act"}
    assert (acted.progress, acted.next_step, acted.next_visit) == ({"look": 1, "act": 1}, "tell", 1)
    assert (acted.branch_id, acted.message_count) == (run.branch_id, 2)
    assert acted.budget == {"steps": 2, "tokens": 10}
    assert Frozen.objects.filter(run=run, step="look", visit=1).count() == 2


def test_a_conversation_is_stored_once() -> None:
    words = "Lorem ipsum dolor sit amet, consectetur adipiscing elit. " * 20
    run = desk.drive(agents.start("Looper", {"turns": 200, "words": words}))
    assert run.state == RunState.COMPLETED
    assert Message.objects.filter(branch=run.branch).count() == 200
    stored = _bytes("durable_message", "content") + _bytes("durable_checkpoint", "state")
    assert stored < 1.2 * 200 * len(words)


def test_a_state_that_does_not_change_is_stored_once() -> None:
    @agents.step
    def turn(self: Any, run: Any) -> Any:
        run.say("agent", str(run.visit))
        return self.turn if run.visit < 50 else None

    @agents.step
    def begin(self: Any, run: Any) -> Any:
        run.state["catalogue"] = ["x" * 1000]
        return self.turn

    agents.define("Steady", begin, turn)
    run = desk.drive(agents.start("Steady"))
    assert Checkpoint.objects.filter(run=run).count() == 52
    held = Checkpoint.objects.filter(run=run, state__isnull=False).values_list("version", flat=True)
    assert list(held) == [1, 2]
    assert checkpoints.load(run).state == {"catalogue": ["x" * 1000]}


def _bytes(table: str, column: str) -> int:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT coalesce(sum(length({column}::text)), 0) FROM {table}")
        return int(cursor.fetchone()[0])


@pytest.mark.parametrize("turns", [2, 150])
def test_a_resume_reads_one_checkpoint_however_long_the_run(turns: int) -> None:
    run = agents.start("Looper", {"turns": turns + 1})
    faults.arm("checkpoint.after_commit", die, hit=turns)
    with pytest.raises(Killed):
        desk.drive(run)
    desk.time_passes(minutes=5)
    with CaptureQueriesContext(connection) as queries:
        desk.drive(run)
    assert run.state == RunState.COMPLETED
    reads = [q["sql"] for q in queries if re.search(r"(FROM|JOIN) .?durable_checkpoint", q["sql"])]
    assert len(reads) == 1
    assert len(queries) < 10
    RESUMES[turns] = len(queries)
    assert len(set(RESUMES.values())) == 1


RESUMES: dict[int, int] = {}


def test_what_a_failed_execution_changed_is_gone_with_it() -> None:
    seen: list[Any] = []

    @agents.step(retries=2)
    def fail(self: Any, run: Any) -> Any:
        seen.append(dict(run.state))
        run.state["half"] = True
        run.say("agent", "half a thought")
        if len(seen) < 2:
            raise ValueError("not yet")
        return None

    agents.define("Failing", fail)
    run = desk.drive(agents.start("Failing"))
    desk.time_passes(minutes=5)
    desk.drive(run)
    assert run.state == RunState.COMPLETED
    assert seen == [{}, {}]
    assert Message.objects.filter(branch=run.branch).count() == 1


def test_a_checkpoint_names_the_version_that_it_follows() -> None:
    run = agents.start("Looper")
    claim = claims.claim(run.ref)
    assert claim is not None
    snap = checkpoints.load(run)
    checkpoints.advance(snap, "turn", {"turns": 1}, [])
    claim.version = 0
    with pytest.raises(BaseException, match="no longer holds"):
        checkpoints.save(claim, snap, sync=False)
    claim.version = 1
    checkpoints.save(claim, snap, sync=False)
    assert claim.version == 2


def test_stored_data_is_never_taken_for_code() -> None:
    """A pickle, a constructor's envelope and a class path are plain text and plain objects to whoever resumes."""
    run = agents.start("Looper", {"turns": 2})
    forged = {
        "turns": 1,
        "a": "gASVEAAAAAAAAACMBXBvc2l4lC4=",
        "b": {"__class__": "os.system", "args": ["false"]},
    }
    Checkpoint.objects.filter(run=run).update(state=forged)
    desk.drive(run)
    assert run.state == RunState.COMPLETED
    assert checkpoints.load(run).state == forged | {"turns": 2}
