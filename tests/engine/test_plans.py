"""A statement of the hot path is planned a few times by each connection, and never again."""

from __future__ import annotations

import re
from decimal import Decimal
from types import ModuleType
from typing import Any

import pytest
from django.db import connection, transaction

from approvals import policy
from durable import recovery, retention
from durable.author import Budget, Money, Next, RunContext, step
from durable.ledger import statements
from durable.states import RunState
from durable.transitions import billing, hot, lives
from tests.engine import agents, desk

pytestmark = pytest.mark.django_db(transaction=True)

#: PostgreSQL plans a prepared statement so often for its values before it compares that with a plan for any values.
TRIED = 5
_KEPT = "SELECT statement, generic_plans, custom_plans FROM pg_prepared_statements WHERE NOT from_sql"


def test_the_server_keeps_its_plan_for_every_statement_of_a_run() -> None:
    @step
    def turn(self: Any, run: RunContext) -> Next:
        run.state["said"] = run.model(agents.think, {"turn": run.visit}, tokens=50)["answer"]
        run.effect(agents.pay, order=f"{run.ref}-{run.visit}", amount=Decimal(1), currency="EUR")
        following: Next = self.turn if run.visit < 2 else None
        return following

    agents.define("Payer of turns", turn, budget=Budget(tokens=1_000, money=Money(100, "EUR")))
    connection.close()
    for _ in range(14):
        assert desk.drive(agents.start("Payer of turns")).state == RunState.COMPLETED
    with connection.cursor() as cursor:
        cursor.execute(_KEPT)
        plans = {" ".join(text.split())[:200]: counted for text, *counted in cursor.fetchall()}
    assert len(plans) > 8
    assert {text: counted for text, counted in plans.items() if counted[1] > TRIED} == {}


@pytest.mark.parametrize(
    "module", [billing, hot, lives, statements, policy], ids=lambda module: module.__name__
)
def test_no_statement_of_a_run_compares_with_an_array_of_values(module: ModuleType) -> None:
    # In a large table a plan for any array looks dearer than one for this array: it would be made again each time.
    texts = [value for value in vars(module).values() if isinstance(value, str)]
    assert [text for text in texts if re.search(r"(ANY|ALL) ?\(%\(", text)] == []


def test_what_is_due_is_found_by_its_moment_and_not_by_looking_at_all_that_waits() -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        for due, column in ((recovery._due_waits(), "deadline"), (retention.prunable(), "ended_at")):
            plan = due.order_by(column).explain()
            assert re.search(rf"Index Cond: .*{column} <", plan), plan
