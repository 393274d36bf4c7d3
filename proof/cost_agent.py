"""The agent of `proof.cost`: many silent steps, then some with an effect, and readings of the server's counters.

A reading is a query of the step's own, on the worker's connection, so that it tells what this worker alone has written.
"""

from __future__ import annotations

import gc
from decimal import Decimal
from typing import Any

from django.db import connection

from durable.author import Agent, Budget, Money, Next, RunContext, hours, step
from proof.four_refunds import Paid, refund_part

#: Laps by the number of the step at which each begins; the last one ends where the run does.
LAPS = {"silent, from step 20": 20, "silent, from step 190": 190, "with an effect, from step 200": 200}
#: Steps that a lap is long.
LENGTH = 10
FIRST_PAID, LAST = 200, 210

_FLUSH = "SELECT /* reading */ pg_stat_force_next_flush()"
_READ = """SELECT /* reading */ w.wal_bytes, (
    SELECT coalesce(sum(fsyncs), 0) FROM pg_stat_get_backend_io(pg_backend_pid()) WHERE object = 'wal'
) FROM pg_stat_get_backend_wal(pg_backend_pid()) w"""
#: What the server's log shows at the beginning of each reading, with the number of the step.
MARK = "SELECT /* reading of step %s of %s */"


def read(run_ref: str, number: int) -> list[int]:
    """Return the bytes of WAL and the flushes that this connection has caused since it was opened.

    Third, how many objects a full pass of the process's garbage collector goes through.
    """
    with connection.cursor() as cursor:
        cursor.execute(MARK % (number, run_ref))
        cursor.execute(_FLUSH)
        cursor.execute(_READ)
        found: tuple[Any, ...] = cursor.fetchone()
    return [*(int(one) for one in found), len(gc.get_objects())]


class Laps(Agent):
    """Goes round and round, saying something each time; from a certain step on it also gives money back."""

    Input = Paid
    budget = Budget(steps=1_000, tokens=100_000, money=Money(1_000, "EUR"), deadline=hours(6))

    @step
    def turn(self, run: RunContext) -> Next:
        """A step without an effect."""
        number = _count(run)
        return self.pay if number + 1 == FIRST_PAID else self.turn

    @step
    def pay(self, run: RunContext) -> Next:
        """A step with one."""
        number = _count(run)
        if number == LAST:
            run.result = run.state["readings"]
            return None
        paid = {"order": run.input["order"], "charge": run.input["charge"]}
        run.effect(refund_part, **paid, amount=Decimal(1), currency="EUR")
        return self.pay


def _count(run: RunContext) -> int:
    number: int = run.state.get("number", 0) + 1
    run.state["number"] = number
    run.say("agent", f"This is step {number}. " + "What I did in it is told in a few words. " * 5)
    if number in {place for begin in LAPS.values() for place in (begin, begin + LENGTH)}:
        run.state.setdefault("readings", {})[str(number)] = read(run.ref, number)
    return number
