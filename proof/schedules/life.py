"""One process's part in one schedule: it counts the points that it passes, and dies at the one that is its end."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from datetime import timedelta

from durable import faults, sending
from local.vendor import Vendor
from proof.dying import die
from proof.schedules import clockwork, oracle, world
from proof.schedules.course import Course
from proof.schedules.notes import Pen

_A_DAY = 24 * 3600.0


def live(course: Course, vendor: Vendor, pen: Pen) -> None:
    """Take the course from where it stands to its end and judge it, or die on the way."""
    # Every pause becomes a wait in the database: schedules sleep for nothing, and see more suspensions.
    sending.SHORT = timedelta(0)
    # Jitter comes out the same in each: a process passes the same points whenever its schedule is played.
    random.seed(len(course.deaths))
    if not course.notes.names:
        world.prepare(course.schedule, vendor, pen, course.order)
    here = world.World(course.schedule, vendor, pen)
    if course.deaths:
        _after_a_death(course, here)
    said: list[str] = []
    with faults.watched(_counting(course, pen)):
        try:
            here.go_on()
        except world.Stuck as stuck:
            said.append(str(stuck))
    run = here.run()
    if run is not None:
        vendor.passes(_A_DAY)  # what was still on its way has arrived
        said += oracle.violations(course.schedule, pen.notes, run, vendor.book())
    pen.write("over", violations=said, state=run.state if run else "")


def _after_a_death(course: Course, here: world.World) -> None:
    """The dead process's lease runs out, and what else the outage lets grow old; new code may have come meanwhile."""
    if course.schedule.new_code and len(course.deaths) == 1:
        here.pen.write("code", code=1)
    run = here.run()
    if run is not None:
        clockwork.passes(here.vendor, run.pk, course.schedule.outage(len(course.deaths) - 1))


def _counting(course: Course, pen: Pen) -> Callable[[str], None]:
    """What hears of each point: it tells the lane, and is the end of the process at the point that is its end."""
    left, main = course.dies_at, threading.main_thread()

    def pass_by(name: str) -> None:
        nonlocal left
        if threading.current_thread() is not main:
            return  # a heartbeat, whose beats are counted by time and not by what the run does
        pen.write("point", name=name)
        left -= 1
        if left == 0:
            die()

    return pass_by
