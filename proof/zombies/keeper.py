"""`python -m proof.zombies.keeper`: forks workers that fall asleep, from one process that has loaded everything.

It reads one order a line, as JSON: `name`, `run`, where to `stop` (`POINT:HIT`, or `tool`), and `without`, whether the
fence is taken out. At the place the whole worker gets SIGSTOP, heartbeat and all; who sent the order wakes it with
SIGCONT. It prints one line for each that stops or ends: `name`, `pid`, `how`, `code`.
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import sys
import traceback
from typing import Any

from local.process import die_with_parent
from proof.dying import lead_a_group

TOOL = "tool"
_TICK = 0.02


def command() -> tuple[str, ...]:
    """Return the words that start a keeper."""
    return (sys.executable, "-m", "proof.zombies.keeper")


def main() -> int:
    """Load once; then fork, and tell what becomes of the forked, until standard input ends."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "durable.settings")
    import django

    django.setup()
    from durable import plan

    plan.agents()
    names: dict[int, str] = {}
    orders = selectors.DefaultSelector()
    orders.register(sys.stdin, selectors.EVENT_READ)
    told = b""
    while True:
        if orders.select(_TICK):
            read = os.read(sys.stdin.fileno(), 65_536)
            if not read:
                break
            *lines, told = (told + read).split(b"\n")
            for line in lines:
                order = json.loads(line)
                names[_fork(order)] = order["name"]
        _tell(names)
    for pid in names:
        os.kill(pid, signal.SIGKILL)
    return 0


def _tell(names: dict[int, str]) -> None:
    while names:
        pid, status = os.waitpid(-1, os.WNOHANG | os.WUNTRACED)
        if not pid:
            return
        stopped = os.WIFSTOPPED(status)
        code = 0 if stopped else os.waitstatus_to_exitcode(status)
        name = names[pid] if stopped else names.pop(pid)
        line = {"name": name, "pid": pid, "how": "stopped" if stopped else "ended", "code": code}
        print(json.dumps(line), flush=True)


def _fork(order: dict[str, Any]) -> int:
    tie = die_with_parent(signal.SIGKILL)
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        lead_a_group()
        if tie is not None:
            tie()
        code = _work(order)
    except BaseException:
        if not order["without"]:  # without its fence it runs into second guards, which is no news
            traceback.print_exc()
    finally:
        os._exit(code)


def _work(order: dict[str, Any]) -> int:
    """Be a worker that stops at its place. Returns its exit code."""
    from durable import faults, runner
    from proof.zombies import cast, unfenced

    if order["stop"] == TOOL:
        cast.inside.append(_sleep_once)
    else:
        point, _, hit = order["stop"].partition(":")
        faults.arm(point, _sleep, hit=int(hit))
    if order["without"]:
        unfenced.take_out()
    runner.drive(order["run"])
    return 0


def _sleep() -> None:
    os.kill(os.getpid(), signal.SIGSTOP)


def _sleep_once() -> None:
    from proof.zombies import cast

    cast.inside.clear()
    _sleep()


if __name__ == "__main__":
    sys.exit(main())
