"""The same runs on tables that hold ever more ended ones, as `manage.py demodata` invents them."""

from __future__ import annotations

import os
from functools import partial

from django.core.management import call_command

from local.postgres import DATABASE, create_database
from tests.bench import growing, kit
from tests.bench.kit import SIZES
from tests.bench.ours import engine


def measure() -> kit.Figures:
    """Milliseconds a step and an effect, by the number of runs that are there already."""
    taken: dict[int, kit.Figures] = {}
    with kit.connect() as connection:
        for runs in growing.ENDED:
            name = f"bench_{runs}"
            create_database(connection, name, template=DATABASE)
            for address in ("BENCH_DATABASE", "DATABASE_URL", "DATABASE_OWNER_URL"):
                os.environ[address] = f"{os.environ[address].rpartition('/')[0]}/{name}"
            found = kit.phase("ours.growth", "grown", runs)
            assert found is not None
            taken[runs] = found
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())
    return growing.table(taken)


def grown(runs: str) -> kit.Figures:
    """In a fresh process, on an empty database: fill it, then drive."""
    call_command("demodata", runs=int(runs), years=1.0)
    found: kit.Figures = {}
    for kind, agent in (("step", "bench steps"), ("effect", "bench payments, a step each")):
        engine.drive(agent, 20)
        seconds = kit.timed(partial(engine.drive, agent, SIZES.steps))
        found[kind] = seconds / SIZES.steps * 1e3
    return found
