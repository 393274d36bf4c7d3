"""A lane forks one process after the other from what it has loaded once, and takes schedules to their ends.

A process takes its schedule from where it stands, and after its end the next one, until it dies at the point that is
its end: by SIGKILL to its own group, at once, with nothing tidied up. The lane waits for it and forks the next. What a
process has to tell comes through a pipe.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator

from local.process import die_with_parent
from local.vendor import Vendor
from proof.dying import lead_a_group
from proof.schedules import controls, life
from proof.schedules.course import Course
from proof.schedules.inherited import Session
from proof.schedules.notes import Pen
from proof.schedules.plan import ERRANDS, Schedule, at


class Lane:
    """Schedules one after the other, at one vendor. `control` names a guard that its processes break."""

    def __init__(self, vendor: Vendor, name: str, control: str = "") -> None:
        self.vendor, self.name, self.control = vendor, name, control
        self._count = 0
        self._session = Session()
        self._warm_up()

    def play(self, schedules: Iterable[Schedule]) -> Iterator[Course]:
        """Play each schedule to its end, and yield what it has come to."""
        waiting = [self._course(schedule) for schedule in schedules]
        while waiting:
            self._life(waiting)
            while waiting and waiting[0].over:
                yield waiting.pop(0)

    def _warm_up(self) -> None:
        """Play some schedules here, so that no child has to load and prepare what every child needs."""
        sink = os.open(os.devnull, os.O_WRONLY)
        for errand in ERRANDS:
            course = self._course(at("K", errand))
            life.live(course, self.vendor, Pen(sink, course.notes))
        os.close(sink)
        self._session.hand_down()
        self.vendor.hang_up()
        gc.collect()
        gc.freeze()  # stays shared with every child
        gc.disable()  # which are gone before there is much to collect

    def _course(self, schedule: Schedule) -> Course:
        self._count += 1
        return Course(schedule, f"{self.name}-{self._count}")

    def _life(self, waiting: list[Course]) -> None:
        """Fork one process, and listen until it is gone."""
        reading, writing = os.pipe()
        tie = die_with_parent(signal.SIGKILL)
        pid = os.fork()
        if not pid:
            os.close(reading)
            self._live(waiting, writing, tie)
        os.close(writing)
        at = 0
        with os.fdopen(reading, "rb") as pipe:
            for line in pipe:
                if line.endswith(b"\n"):
                    waiting[at].hear(json.loads(line))
                    at += waiting[at].over
        _, status = os.waitpid(pid, 0)
        code = os.waitstatus_to_exitcode(status)
        self._session.take_back(whole=code in (0, -signal.SIGKILL))
        if at < len(waiting):
            if code == -signal.SIGKILL and len(waiting[at].traces[-1]) == waiting[at].dies_at:
                waiting[at].died()
            else:
                waiting[at].fail(f"a process ended with {code}, and not by its schedule")

    def _live(self, waiting: list[Course], writing: int, tie: Callable[[], None] | None) -> None:
        """The whole life of a forked process. Never returns."""
        code = 1
        try:
            lead_a_group()
            if tie is not None:
                tie()
            controls.take_out(self.control)
            for course in waiting:
                life.live(course, self.vendor, Pen(writing, course.notes))
            code = 0
        except BaseException:
            traceback.print_exc(file=sys.stderr)
            sys.stderr.flush()
        finally:
            os._exit(code)
