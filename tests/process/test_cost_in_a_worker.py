"""What a step and an effect cost in a real worker stays what it is, at the 200th step as at the 20th."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from proof import cost, cost_agent
from proof.cost import Figures

pytestmark = pytest.mark.process
ROOT = Path(__file__).resolve().parents[2]
EARLY, LATE, EFFECT = cost_agent.LAPS


@pytest.fixture(scope="module")
def found() -> dict[tuple[str, str], Figures]:
    """The figures by mode and lap, measured on services of their own."""
    words = [sys.executable, "-m", "proof.cost", "--json"]
    ended = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=400)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    all_of_them = [Figures(**one) for one in json.loads(ended.stdout.splitlines()[-1])]
    print(cost.table(all_of_them))
    return {(one.mode, one.lap): one for one in all_of_them}


@pytest.mark.parametrize("lap", [EARLY, LATE])
@pytest.mark.parametrize(("mode", "flushes"), [("async", 0), ("sync", 1)])
def test_a_step_without_effects_is_one_statement_and_one_commit_and_waits_for_the_disk_in_sync_mode_alone(
    found: dict[tuple[str, str], Figures], mode: str, flushes: int, lap: str
) -> None:
    step = found[mode, lap]
    assert (step.statements, step.commits) == (1, 1)
    assert round(step.flushes) == flushes  # the server may flush for us now and then, or we for others
    assert 200 < step.wal < 8_000  # 2,500, and now and then a whole page after a checkpoint of the server


@pytest.mark.parametrize(("mode", "flushes"), [("async", 2), ("sync", 3)])
def test_a_step_with_an_effect_is_three_commits_and_its_intent_and_outcome_wait_for_the_disk_in_every_mode(
    found: dict[tuple[str, str], Figures], mode: str, flushes: int
) -> None:
    step = found[mode, EFFECT]
    assert (step.commits, round(step.flushes)) == (3, flushes)
    assert 3 <= step.statements <= 4
    assert 2_000 < step.wal < 30_000  # 11,000


def test_the_garbage_collector_looks_at_nothing_that_the_worker_had_loaded_before_it_forked(
    found: dict[tuple[str, str], Figures],
) -> None:
    assert all(0 < step.watched < 50_000 for step in found.values())


def test_a_server_s_log_is_read_by_connection_and_from_reading_to_reading() -> None:
    entry = "2026-01-01 00:00:00.000 UTC [{}] LOG:  statement: {}"
    said = (
        (7, "BEGIN"),
        (7, "SELECT /* reading of step 20 of run-1 */"),
        (7, "BEGIN"),
        (8, "UPDATE other SET a = 1"),
        (7, "UPDATE durable_run SET a = 1"),
        (7, "COMMIT"),
        (7, "\n\tWITH due AS (SELECT 1)\n\tUPDATE durable_run SET b = 1"),
        (7, "SELECT 1"),
        (7, "SELECT /* reading of step 30 of run-1 */"),
        (7, "SELECT /* reading */ 1"),
        (7, "SELECT 2"),
        (7, "SELECT /* reading of step 20 of run-2 */"),
    )
    words = cost.statements("\n".join(entry.format(*one) for one in said), "run-1")
    assert [len(words[20]), len(words[30])] == [5, 1]
    assert [cost.commits(words[20]), cost.commits(words[30])] == [2, 0]
