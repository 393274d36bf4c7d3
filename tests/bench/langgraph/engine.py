"""LangGraph with its PostgreSQL saver: the whole state is checkpointed after each super-step."""

from __future__ import annotations

import os
from typing import Any

import psycopg
from langgraph.checkpoint.postgres import PostgresSaver
from psycopg.rows import dict_row


def saver() -> Any:
    """A saver on a connection of its own, as `from_conn_string` makes it, without the block."""
    url = os.environ["BENCH_DATABASE"]
    return PostgresSaver(psycopg.connect(url, autocommit=True, prepare_threshold=0, row_factory=dict_row))


def thread(name: str) -> dict[str, Any]:
    """The configuration of one run."""
    return {"configurable": {"thread_id": name}, "recursion_limit": 1_000_000}
