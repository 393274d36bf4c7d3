"""What a driver plays of each order that it is given, and what it tells of each schedule.

An order is `points:CLASS:ERRAND[:TURN]`, `pairs:CLASS:ERRAND`, `random:COUNT:SEED`, `control:NAME` or `case:NAME`. A
driver takes the `part`-th of `of` parts of each.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator

from proof.schedules.controls import CONTROLS
from proof.schedules.course import Course
from proof.schedules.lane import Lane
from proof.schedules.plan import Schedule, at, drawn, named

Played = Iterator[tuple[str, Course]]


def _points(lane: Lane, part: int, of: int, rest: str) -> Played:
    """Every single point of an errand; every lane plays the one without a death, to know them."""
    for course in _all(lane, _singles(lane, part, of, rest)):
        yield "single", course


def _pairs(lane: Lane, part: int, of: int, rest: str) -> Played:
    """Every point of the first process, and for each of them every point of the second."""
    cls, errand = rest.split(":")
    seconds: list[Schedule] = []
    for course in _all(lane, _singles(lane, part, of, rest)):
        yield "first", course
        (first,) = course.schedule.deaths
        seconds += [at(cls, errand, first, second) for second in range(1, len(course.traces[-1]) + 1)]
    for course in _all(lane, seconds):
        yield "pair", course


def _all(lane: Lane, schedules: list[Schedule]) -> Iterator[Course]:
    """Play enumerated schedules. One that did not come to its last death is played once more.

    A process that is slow may look at its vendor once less than the one that the points were counted in.
    """
    missed: list[Schedule] = []
    for course in lane.play(schedules):
        if _missed(course):
            missed.append(course.schedule)
        else:
            yield course
    yield from lane.play(missed)


def _missed(course: Course) -> bool:
    return len(course.deaths) != len(course.schedule.deaths) and not course.violations


def _singles(lane: Lane, part: int, of: int, rest: str) -> list[Schedule]:
    cls, errand, turn = (*rest.split(":"), "")[:3]
    (healthy,) = lane.play([at(cls, errand, turn=turn)])
    points = len(healthy.traces[-1])
    if healthy.violations or not points:
        raise RuntimeError(f"{healthy.schedule} goes wrong without any death: {healthy.violations}")
    return [at(cls, errand, point, turn=turn) for point in range(1, points + 1) if point % of == part]


def _random(lane: Lane, part: int, of: int, rest: str) -> Played:
    count, seed = map(int, rest.split(":"))
    for course in lane.play(drawn(seed, number) for number in range(part, count, of)):
        yield "random", course


def _control(lane: Lane, part: int, of: int, rest: str) -> Played:
    """One schedule, in one lane alone: without a death where that does the damage, else the death that does it."""
    control = CONTROLS[rest]
    if list(CONTROLS).index(rest) % of != part:
        return
    (course,) = lane.play([control.schedule])
    yield "control", course
    if control.point:
        place = course.traces[-1].index(control.point) + 1
        yield from (
            ("control", one) for one in lane.play([at(course.schedule.cls, course.schedule.errand, place)])
        )


def _case(lane: Lane, part: int, of: int, rest: str) -> Played:
    if part == 0:
        for course in lane.play([named(rest)]):
            yield "case", course


def play(lane: Lane, part: int, of: int, order: str) -> None:
    """Play one part of an order, and tell of each schedule in a line of JSON on standard output."""
    kind, _, rest = order.partition(":")
    lane.control = rest if kind == "control" else ""
    for label, course in _ORDERS[kind](lane, part, of, rest):
        _tell(order, label, course)


_ORDERS = {"points": _points, "pairs": _pairs, "random": _random, "control": _control, "case": _case}


def _tell(order: str, label: str, course: Course) -> None:
    missed = label in ("single", "first", "pair") and _missed(course)
    violations = [*course.violations, *(["it never came to its last death"] if missed else [])]
    line = {
        "order": order,
        "label": label,
        "name": course.schedule.name,
        "schedule": str(course.schedule),
        "deaths": course.deaths,
        "trace": course.traces[-1],
        "state": course.state,
        "met": course.notes.met,
        "violations": violations,
    }
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()
