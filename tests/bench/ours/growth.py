"""The same runs on tables that hold ever more ended ones, as `manage.py demodata` invents them."""

from __future__ import annotations

import os
from functools import partial

from django.core.management import call_command

from local.postgres import DATABASE, create_database
from tests.bench import growing, kit
from tests.bench.kit import SIZES
from tests.bench.ours import engine

_ADDRESSES = ("BENCH_DATABASE", "DATABASE_URL", "DATABASE_OWNER_URL")


def measure() -> kit.Figures:
    """Milliseconds a step and an effect, by the number of runs that are there already: the sizes take turns."""
    with kit.connect() as connection:
        for runs in growing.ENDED:
            create_database(connection, _name(runs), template=DATABASE)
            _phase("fill", runs)
        connection.execute("CHECKPOINT")
        taken = [{runs: _phase("drive", runs) for runs in growing.ENDED} for _ in range(growing.TURNS)]
        for runs in growing.ENDED:
            connection.execute(f"DROP DATABASE {_name(runs)} WITH (FORCE)".encode())
    return growing.table(taken)


def _name(runs: int) -> str:
    return f"bench_{runs}"


def _phase(function: str, runs: int) -> kit.Figures:
    """Do it in a process that speaks to the database of that size."""
    for address in _ADDRESSES:
        os.environ[address] = f"{os.environ[address].rpartition('/')[0]}/{_name(runs)}"
    found = kit.phase("ours.growth", function, runs)
    assert found is not None
    return found


def fill(runs: str) -> kit.Figures:
    """Invent so many runs. What was copied in is settled before anything is measured."""
    call_command("demodata", runs=int(runs), years=1.0)
    kit.connect().execute("VACUUM ANALYZE")
    return {}


def drive(runs: str) -> kit.Figures:
    """Drive one run of steps and one of effects."""
    found: kit.Figures = {}
    for kind, agent in (("step", "bench steps"), ("effect", "bench payments, a step each")):
        engine.drive(agent, 20)
        seconds = kit.timed(partial(engine.drive, agent, SIZES.steps))
        found[kind] = seconds / SIZES.steps * 1e3
    return found
