"""Celery's bare hop: a decision is committed, a message sent, a worker claims by one statement and begins."""

from __future__ import annotations

from tests.bench import hops, kit
from tests.bench.bell import Bell
from tests.bench.limit import tasks


def measure() -> kit.Figures:
    """Milliseconds from the decision to the next step's beginning."""
    connection, bell, taken = kit.connect(), Bell(), []
    connection.execute("CREATE TABLE gate (id int PRIMARY KEY, state text NOT NULL, decision text)")
    connection.execute("INSERT INTO gate SELECT id, 'open' FROM generate_series(1, %s) id", (hops.SINGLE,))
    with tasks.worker(hops.CHILDREN):
        for gate in range(1, 1 + hops.SINGLE):
            begin = kit.now()
            connection.execute(
                "UPDATE gate SET state = 'decided', decision = 'approve' WHERE id = %s", (gate,)
            )
            tasks.go_on.delay(gate, bell.port, str(gate))
            taken.append(bell.heard(str(gate)) - begin)
    kit.done(
        kit.one(connection, "SELECT count(*) FROM gate WHERE state = 'running'"), hops.SINGLE, "decided gates"
    )
    return hops.spread("to the step", taken)
