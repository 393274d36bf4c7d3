"""`python -m tests.process.racers drive RUN...` or `start KEY N`: forked processes that begin at the same moment.

`drive` gives each run a process of its own. `start` lets N processes start a run under one key. Each prints a line.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from multiprocessing.synchronize import Barrier

_FORK = multiprocessing.get_context("fork")


def race(acts: Sequence[Callable[[], str]]) -> int:
    """Run each act in a process of its own, all from one barrier on. Returns how many of them failed."""
    line = _FORK.Barrier(len(acts))
    children = [_FORK.Process(target=_run, args=(line, act)) for act in acts]
    for child in children:
        child.start()
    for child in children:
        child.join()
    return sum(child.exitcode != 0 for child in children)


def _run(line: Barrier, act: Callable[[], str]) -> None:
    from django.db import connection

    connection.ensure_connection()
    line.wait()
    # One write: several processes share the pipe.
    os.write(1, f"{act()}\n".encode())


def drive(run_ref: str) -> str:
    from durable import runner

    return f"{run_ref} {runner.drive(run_ref)}"


def start(key: str) -> str:
    from durable import runs

    return runs.start("RefundDesk", {"order": key, "wants": "money"}, actor="tests", key=key).ref


def main(words: Sequence[str]) -> int:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "durable.settings")
    import django

    django.setup()
    if words[0] == "drive":
        return race([partial(drive, ref) for ref in words[1:]])
    return race([partial(start, words[1])] * int(words[2]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
