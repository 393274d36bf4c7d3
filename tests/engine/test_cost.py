"""The shape of the cost, with limits so that it can't creep up. PostgreSQL counts, not the engine."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import psycopg
import pytest
from django.db import connection

from durable import faults, runner, vault
from durable.author import Budget, GiveUp, Money, Next, RunContext, step
from durable.models import Checkpoint, Run
from durable.states import RunState
from local.pytest_plugin import SHARED
from tests.engine import agents, desk
from tests.engine.resting import nap, rest

pytestmark = pytest.mark.django_db(transaction=True)

LAPS = 5


class Meter:
    """What one stretch of work cost: statements of the client, and what the server wrote for them."""

    def __init__(self) -> None:
        name = connection.settings_dict["NAME"]
        admin = str(json.loads(os.environ[SHARED])["admin"]).format(name)
        self.server = psycopg.connect(admin, autocommit=True)
        self.statements: list[str] = []
        self.inside: list[str] = []  # those inside a transaction of several
        self.flushes = 0
        self.laps: list[tuple[int, int, int]] = []
        self._on = False

    def watch(self, execute: Any, sql: Any, params: Any, many: bool, context: Any) -> Any:
        if self._on:
            self.statements.append(" ".join(str(sql).split()))
            if connection.in_atomic_block:
                self.inside.append(self.statements[-1])
            elif _writes(sql) and not _is_lazy(sql, params):
                self.flushes += 1
        return execute(sql, params, many, context)

    def begin(self) -> None:
        self.statements.clear()
        self.flushes = 0
        self.before = self._read()
        self._on = True

    def end(self) -> None:
        self._on = False
        self.after = self._read()

    def lap(self) -> None:
        """Measure from one checkpoint to the next, `LAPS` times. Others use the server too: the least lap is ours."""
        if self._on:
            self.end()
            self.laps.append((len(self.statements), self.writing, self.wal))
        if len(self.laps) < LAPS:
            self.begin()
            faults.arm("checkpoint.after_commit", self.lap)

    def _read(self) -> int:
        """The server's own position in its log."""
        row = self.server.execute("SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn").fetchone()
        assert row is not None
        return int(row[0])

    @property
    def wal(self) -> int:
        """Bytes of write-ahead log."""
        return self.after - self.before

    @property
    def writing(self) -> int:
        """Statements that write. Outside of a transaction each is a commit."""
        return sum(map(_writes, self.statements))


def _writes(sql: Any) -> bool:
    return "UPDATE" in str(sql) or "INSERT" in str(sql)


def _is_lazy(sql: Any, params: Any) -> bool:
    """Whether a statement says that its commit need not wait for the disk."""
    return params.get("commit") == "off" or "set_config('synchronous_commit', 'off'" in str(sql)


@pytest.fixture
def meter() -> Iterator[Meter]:
    made = Meter()
    with connection.execute_wrapper(made.watch):
        yield made
    made.server.close()


@pytest.mark.parametrize("words", ["", "Lorem ipsum dolor sit amet. " * 20], ids=["silent", "speaking"])
@pytest.mark.parametrize("at", [20, 196])
def test_a_step_without_effects_is_one_statement_and_one_commit_however_long_the_run(
    meter: Meter, at: int, words: str
) -> None:
    run = agents.start("Looper", {"turns": 210, "words": words})
    faults.arm("checkpoint.after_commit", meter.lap, hit=at - 1)
    desk.drive(run)
    assert run.state == RunState.COMPLETED
    wal = min(lap[-1] for lap in meter.laps)
    print(f"step {at}: 1 statement, 1 commit, {wal} bytes of WAL")
    assert {lap[:2] for lap in meter.laps} == {(1, 1)}, meter.statements
    assert meter.inside == []
    assert wal < 40_000  # 2,600 at rest; a few whole pages right after a checkpoint of the server
    assert run.budget.steps_used == 210


@pytest.mark.parametrize("key", [None, "once"])
def test_a_start_is_one_statement(meter: Meter, key: str | None) -> None:
    for _ in range(2):  # a process finds out at its first starts whether its setting opens sealing keys
        agents.start("Looper")
    meter.begin()
    run = agents.start("Looper", key=key)
    meter.end()
    assert len(meter.statements) == 1, meter.statements
    assert _values(run) == _values(Run.objects.get(ref=run.ref))


@step
def stumble(self: Any, run: RunContext) -> Next:
    """Fail."""
    raise ValueError("no")


@step
def despair(self: Any, run: RunContext) -> Next:
    """Give up."""
    raise GiveUp("no")


@pytest.mark.parametrize(
    ("does", "statements", "state"),
    [
        (rest, 1, RunState.COMPLETED),
        (nap, 3, RunState.SUSPENDED),
        (stumble, 1, RunState.QUEUED),
        (despair, 1, RunState.FAILING),
    ],
)
def test_a_run_is_taken_up_with_two_statements_and_put_down_with_few(
    meter: Meter, does: Any, statements: int, state: RunState
) -> None:
    run = agents.run_of(does)
    vault.prove()
    meter.begin()
    desk.drive(run)
    meter.end()
    reread = 1  # `desk.drive` looks at what has become of it
    assert (run.state, len(meter.statements) - reread) == (state, 2 + statements), meter.statements


def _values(run: Run) -> dict[str, Any]:
    return {field.name: getattr(run, field.attname) for field in Run._meta.concrete_fields}


def test_nothing_that_the_end_of_a_step_writes_stands_in_an_index_of_its_run() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT indexdef FROM pg_indexes WHERE tablename = 'durable_run'")
        indexes = [index for (index,) in cursor.fetchall()]
    moved = re.compile(r"\b(lease_until|version|step|visit|tries|crashes|message_count)\b")
    assert len(indexes) > 5
    assert [index for index in indexes if moved.search(index)] == []


def test_an_effect_is_two_commits_of_a_statement_each_and_none_is_open_while_the_vendor_is_asked(
    meter: Meter,
) -> None:
    open_meanwhile: list[bool] = []

    @step
    def act(self: Any, run: RunContext) -> Next:
        for order in range(LAPS):
            meter.begin()
            agents.meanwhile.append(lambda call: open_meanwhile.append(_in_transaction(meter)))
            run.effect(agents.pay, order=str(order), amount=Decimal(10), currency="EUR")
            meter.end()
            meter.laps.append((len(meter.statements), meter.writing, meter.wal))
        return None

    agents.define("Payer", act, budget=Budget(money=Money(100, "EUR")))
    run = desk.drive(agents.start("Payer"))
    assert run.state == RunState.COMPLETED
    statements, writing, wal = map(min, zip(*meter.laps, strict=True))
    print(f"effect: {statements} statements, {writing} of them write, {wal} bytes of WAL")
    assert open_meanwhile == [False] * LAPS
    # What policy has to know of earlier payments; then the intent and the outcome, each a commit by itself.
    assert {lap[:2] for lap in meter.laps} == {(3, 2)}, meter.statements
    assert meter.inside == []


def test_a_turn_of_a_model_with_one_effect_is_four_statements_and_waits_for_the_disk_twice(
    meter: Meter,
) -> None:
    @step
    def turn(self: Any, run: RunContext) -> Next:
        asked = {"turn": run.visit}
        run.state["said"] = run.model(agents.think, asked, tokens=50)["answer"]
        run.effect(agents.jot, text=f"turn {run.visit}")
        following: Next = self.turn if run.visit < LAPS + 2 else None
        return following

    def lap() -> None:
        if meter._on:
            meter.end()
            meter.laps.append((len(meter.statements), meter.flushes, meter.wal))
        if len(meter.laps) < LAPS:
            meter.begin()
            faults.arm("checkpoint.after_commit", lap)

    agents.define("Turner of models", turn, budget=Budget(tokens=1_000))
    run = agents.start("Turner of models")
    faults.arm("checkpoint.after_commit", lap)
    desk.drive(run)
    assert run.state == RunState.COMPLETED
    assert {lap[:2] for lap in meter.laps} == {(4, 2)}, meter.statements
    assert run.budget.tokens_used == 10 * (LAPS + 2)


def _in_transaction(meter: Meter) -> bool:
    """Whether the server sees a transaction of ours open."""
    row = meter.server.execute(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() "
        "AND state LIKE 'idle in transaction%'"
    ).fetchone()
    assert row is not None
    return bool(row[0])


def test_a_conversation_of_two_hundred_turns_is_stored_once() -> None:
    words = "Lorem ipsum dolor sit amet, consectetur adipiscing elit. " * 20
    run = desk.drive(agents.start("Looper", {"turns": 200, "words": words}))
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT (SELECT sum(pg_column_size(m.*)) FROM durable_message m), "
            "(SELECT sum(pg_column_size(c.*)) FROM durable_checkpoint c)"
        )
        said, checkpoints = cursor.fetchone()
    raw = 200 * len(words)
    print(f"200 turns: {raw} bytes said, {said} stored as messages, {checkpoints} as checkpoints")
    assert Checkpoint.objects.filter(run=run).count() == 201
    assert said + checkpoints < 1.3 * raw


def test_a_suspended_run_costs_no_statement_and_its_resume_does_not_grow(meter: Meter) -> None:
    costs = []
    for turns in (2, 100):
        run = agents.start("Looper", {"turns": turns + 1})
        faults.arm("checkpoint.after_commit", _stop, hit=turns)
        with pytest.raises(KeyboardInterrupt):
            runner.drive(run.ref)
        desk.time_passes(minutes=5)
        meter.begin()
        runner.drive(run.ref)
        meter.end()
        assert Run.objects.get(pk=run.pk).state == RunState.COMPLETED
        costs.append(len(meter.statements))
    print(f"a resume with its last step and its end: {costs[0]} statements")
    assert costs[0] == costs[1] <= 20


def _stop() -> None:
    raise KeyboardInterrupt
