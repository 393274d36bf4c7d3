"""How a process of the proof dies: SIGKILL to its whole group, at a point of the engine that it has armed itself."""

from __future__ import annotations

import os
import signal

from durable import faults


def die() -> None:
    """Kill this process and everything that it has forked. It does not come back."""
    os.killpg(os.getpgid(0), signal.SIGKILL)
    signal.pause()


def arm(point: str) -> None:
    """Arm `NAME` or `NAME:HIT`: the process dies when it passes the point for the `HIT`-th time. Raises ValueError."""
    name, _, hit = point.partition(":")
    faults.arm(name, die, hit=int(hit or 1))


def lead_a_group() -> None:
    """Make sure that the group which dies is this process's alone."""
    if os.getpgid(0) != os.getpid():
        os.setpgid(0, 0)
