"""DBOS Transact: a workflow in this process whose steps are journalled in PostgreSQL."""

from __future__ import annotations

import os

from dbos import DBOS, DBOSConfig

from tests.bench.kit import SIZES


def launch() -> None:
    """Start it on this cell's database, its tables made. Raises where a workflow is not known yet: decorate before."""
    config: DBOSConfig = {
        "name": "bench",
        "system_database_url": os.environ["BENCH_DATABASE"],
        "log_level": "ERROR",
        "application_version": "1",
        "executor_id": "bench",
        "max_executor_threads": 2 * SIZES.wide,
    }
    DBOS(config=config)
    DBOS.launch()
