"""Absurd: tasks whose steps are checkpointed by functions in PostgreSQL; a client works one task at a time."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from absurd_sdk import Absurd

#: A task as its author writes it: what it is given, and its context.
Task = Callable[[dict[str, Any], Any], Any]


def install() -> None:
    """Make its tables and one queue."""
    program = Path(sys.executable).with_name("absurdctl")
    words = [str(program), "init", "-d", os.environ["BENCH_DATABASE"]]
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    client({}).create_queue()


def client(tasks: Mapping[str, Task]) -> Any:
    """A client on a connection of its own that knows these tasks."""
    made = Absurd(os.environ["BENCH_DATABASE"], default_max_attempts=1_000)
    for name, task in tasks.items():
        made.register_task(name)(task)
    return made
