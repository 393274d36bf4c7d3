"""Trying changes: a fork for each, in which the tests that reach it run until one fails."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import select
import signal
import time
import traceback
from collections import Counter
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from proof.mutants.lines.change import Change
from proof.mutants.lines.transplant import Breaks, Untried, transplant

#: A test gets this many times the seconds that it took unbroken, and a little to begin with.
_SLOWER = 6
_BEGIN = 20.0
#: Tests that have noticed most in this module come first, this many of them.
_FIRST = 8
_NOTICED, _SURVIVED, _UNTRIED, _BROKEN = 1, 0, 3, 4
#: Bytes that a child may say at its end, and what it says after each test that passed.
_LONGEST = 4000
_PASSED = b"\n"


class Trier:
    """Tries the changes of its task until they or its time are over.

    Each result is one line of JSON in the task's file: the change, how it ended (`noticed`, `timed out`, `survived`,
    `not reached` by any test, or `untried`), by which test, and how many were chosen of how many that reach it.
    """

    def __init__(self, items: list[pytest.Item], failed: list[str], task: dict[str, Any]) -> None:
        self._items = {item.nodeid: item for item in items}
        self._failed = failed
        self._task = task
        self._seconds: dict[str, float] = task["seconds"]
        self._noticed: Counter[tuple[str, str]] = Counter()

    def run(self) -> None:
        self._warm()
        with open(self._task["into"], "a") as into:
            for stored in self._task["changes"]:
                if time.time() > self._task["until"]:
                    return
                change, tests = Change.read(stored["change"]), stored["tests"]
                began = time.monotonic()
                chosen = self._chosen(change.path, tests)
                how, by = self._try(change, chosen) if chosen else ("not reached", "")
                if by:
                    self._noticed[change.path, by] += 1
                result = {
                    "change": change.stored(),
                    "how": how,
                    "by": by,
                    "tried": len(chosen),
                    "reach": len(tests),
                }
                into.write(json.dumps(result | {"seconds": round(time.monotonic() - began, 2)}) + "\n")
                into.flush()

    def _chosen(self, path: str, tests: list[str]) -> list[str]:
        """Those that noticed most in this module, then the quickest of each file in turn, while the time lasts."""
        able = sorted((one for one in tests if one in self._items), key=lambda one: self._seconds[one])
        best = sorted(
            (one for one in able if self._noticed[path, one]), key=lambda one: -self._noticed[path, one]
        )
        turn: Counter[str] = Counter()
        turns: dict[str, int] = {}
        for one in able:
            turn[one.partition("::")[0]] += 1
            turns[one] = turn[one.partition("::")[0]]
        chosen: list[str] = []
        left = float(self._task["most"])
        for one in dict.fromkeys([*best[:_FIRST], *sorted(able, key=lambda one: turns[one])]):
            left -= self._seconds[one]
            if left < 0 and chosen:
                break
            chosen.append(one)
        return chosen

    def _warm(self) -> None:
        """Set up what lasts for a session (database, stand-ins), so that every fork has it already."""
        for folder in sorted({item.path.parent for item in self._items.values()}):
            here = [item for item in self._items.values() if item.path.parent == folder]
            wanting = [one for one in here if "vendor" in getattr(one, "fixturenames", ())] or here
            item = min(wanting, key=lambda one: self._seconds.get(one.nodeid, 1e9))
            other = next(one for one in self._items.values() if one.path.parent != folder)
            item.ihook.pytest_runtest_protocol(item=item, nextitem=other)
        if self._failed:
            raise RuntimeError(f"failed before anything was broken: {self._failed}")
        gc.collect()
        gc.freeze()

    def _try(self, change: Change, chosen: list[str]) -> tuple[str, str]:
        self._hang_up()
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(read)
            _be_child(self, change, chosen, write)
        os.close(write)
        said, code = _wait(child, read, [_BEGIN + _SLOWER * self._seconds[one] for one in chosen])
        if code not in (_SURVIVED, _NOTICED):
            self._clean()
        if code == -signal.SIGKILL:
            return "timed out", ""
        return {_NOTICED: "noticed", _SURVIVED: "survived"}.get(code, "untried"), said

    def run_tests(self, chosen: list[str], passed: Callable[[], object]) -> str:
        """In the child: the first test that fails, or nothing. Calls `passed` after each other one."""
        self._failed.clear()
        items = [self._items[one] for one in chosen]
        for item, following in zip(items, [*items[1:], None], strict=True):
            after = following or next(one for one in self._items.values() if one.path != item.path)
            item.ihook.pytest_runtest_protocol(item=item, nextitem=after)
            if self._failed:
                return self._failed[0]
            passed()
        return ""

    def _hang_up(self) -> None:
        """No fork may share a connection with another."""
        from django.db import connections

        connections.close_all()

    def _clean(self) -> None:
        """After a child that may have left rows, locks or a session behind."""
        from django.db import connections

        from local.testdb import _admin, _clean

        name = connections["default"].settings_dict["NAME"]
        with psycopg.connect(_admin("postgres"), autocommit=True) as admin:
            admin.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [name])
        _clean(None)


def _be_child(trier: Trier, change: Change, chosen: list[str], write: int) -> None:
    code = _BROKEN
    try:
        os.setsid()
        nothing = os.open(os.devnull, os.O_RDWR)
        for number in (1, 2):
            os.dup2(nothing, number)
        transplant(change)
        by = trier.run_tests(chosen, lambda: os.write(write, _PASSED))
        os.write(write, by.encode()[:_LONGEST])
        code = _NOTICED if by else _SURVIVED
    except Breaks as error:
        os.write(write, f"import: {error}".encode()[:_LONGEST])
        code = _NOTICED
    except Untried as error:
        os.write(write, str(error).encode()[:_LONGEST])
        code = _UNTRIED
    except BaseException:
        os.write(write, traceback.format_exc().encode()[-_LONGEST:])
    finally:
        os._exit(code)


def _wait(child: int, read: int, limits: list[float]) -> tuple[str, int]:
    """What a child said and how it ended; it is killed, with all that it started, when a test takes too long."""
    said = b""
    for limit in [*limits, _BEGIN]:
        ready, _, _ = select.select([read], [], [], limit)
        if not ready:
            os.killpg(child, signal.SIGKILL)
            break
        said += os.read(read, _LONGEST)
        if said.strip(_PASSED):
            break
    os.close(read)
    _, status = os.waitpid(child, 0)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)  # what its tests have started
    return said.strip(_PASSED).decode(), os.waitstatus_to_exitcode(status)
