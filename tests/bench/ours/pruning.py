"""Runs of small steps, alone and beside a pruner that takes checkpoints of runs which ended long ago."""

from __future__ import annotations

import subprocess
import sys
from datetime import timedelta

from durable import retention
from tests.bench import kit, letting
from tests.bench.kit import SIZES
from tests.bench.ours import engine

_FILL = """
WITH runs AS (
    INSERT INTO durable_run (ref, agent, input, input_digest, requester, durability, state, step, visit, tries, version,
        message_count, attempt, nonce, worker, crashes, held, undo_after, budget_id, error, created_at, changed_at,
        ended_at, branch_id)
    SELECT 'run-old' || n, 'bench steps', '{}', '', 'bench', 'sync', 'completed', 'a', 1, 0, %(each)s + 1, 0, 1, '', '',
        0, false, false, b.budget, '', now(), now(), now() - interval '30 days' + n * interval '1 ms', b.branch
    FROM generate_series(1, %(runs)s) n,
         (SELECT max(g.id) AS budget, max(r.id) AS branch FROM durable_budget g, durable_branch r) b
    RETURNING id, branch_id
), keys AS (
    INSERT INTO durable_sealkey (run_id, wrapped) SELECT id, NULL FROM runs
)
INSERT INTO durable_checkpoint (run_id, version, kind, step, visit, next_step, next_visit, attempt, state,
    state_version, progress, branch_id, message_count, compaction_base, budget, at)
SELECT r.id, v, 'step', 'a', v, 'a', v + 1, 1, jsonb_build_object('turn', v, 'said', repeat('x', 300)), v,
       '{}', r.branch_id, 0, 0, '{}', now()
FROM runs r, generate_series(1, %(each)s + 1) v
"""
_LEFT = "SELECT count(*) FROM durable_checkpoint c JOIN durable_run r ON r.id = c.run_id WHERE r.ref LIKE 'run-old%'"
_WHOLE = """
SELECT count(*) FROM durable_run r JOIN durable_checkpoint c ON c.run_id = r.id AND c.version = r.version
WHERE r.ref LIKE 'run-old%'
"""


def measure() -> kit.Figures:
    """Milliseconds a step, alone and beside the pruner in turns; and how fast it prunes."""
    engine.drive("bench steps", 20)
    runs = letting.CHECKPOINTS // letting.EACH
    with kit.connect() as connection:
        connection.execute(_FILL.encode(), {"runs": runs, "each": letting.EACH})
        connection.execute("VACUUM ANALYZE")
        pairs, gone, seconds = [], 0, 0.0
        for _ in range(letting.PAIRS):
            alone = _steps()
            before = kit.one(connection, _LEFT)
            pruner = subprocess.Popen([sys.executable, "-m", "tests.bench.cell", "ours.pruning", "prune"],
                                      stdout=subprocess.DEVNULL)  # fmt: skip
            while kit.one(connection, _LEFT) == before and pruner.poll() is None:
                pass
            begin, there = kit.now(), kit.one(connection, _LEFT)
            beside = _steps()
            seconds += kit.now() - begin
            after = kit.one(connection, _LEFT)
            pruner.kill()
            pruner.wait()
            gone += there - after
            if after <= runs:
                raise SystemExit("the pruner had nothing left to do: more checkpoints are needed")
            pairs.append((alone, beside))
        kit.done(kit.one(connection, _WHOLE), runs, "runs whose final state is kept")
    return letting.table(pairs, gone / seconds)


def _steps() -> float:
    """Milliseconds a step of some runs, one after the other: longer than a pass of the pruner and its rest."""
    runs = SIZES.runs * 3
    return (
        kit.timed(lambda: [engine.drive("bench steps", SIZES.steps) for _ in range(runs)])
        / (runs * SIZES.steps)
        * 1e3
    )


def prune() -> kit.Figures:
    """Prune until it is killed."""
    return {"runs": retention.prune(within=timedelta(hours=6)).runs}
