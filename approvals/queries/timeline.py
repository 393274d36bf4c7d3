"""A run's time, drawn from rows that are there anyway: its steps, waits and effects in order, idle stretches folded.

A stretch in which no step works and no request is on its way is idle. A long one takes no more room than its name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

from approvals.appearance import DONE, DOUBT, MOVING, QUIET, STOPPED, WAITS
from approvals.moments import whole_minute
from approvals.outcomes import moment
from approvals.templatetags.interlock import span
from durable.models import Run
from durable.states import CheckpointKind, EffectState, RunState, WaitKind

Row = Mapping[str, Any]
#: From here on an idle stretch is folded.
IDLE = timedelta(minutes=1)
#: A request without an answer for longer than this keeps nobody busy any more.
_IN_FLIGHT = timedelta(minutes=5)
LANES = 24
#: Where there are more lanes than this, the visits of a step share one, and so do the effects of a tool in one state.
APART = 10
#: More of what one lane holds than this is counted, not told one by one.
_TOLD = 6
_FOLDS_TAKE, _FOLD_TAKES = 40.0, 8.0
_NARROWEST = 0.8
_WORKED = frozenset({CheckpointKind.STEP, CheckpointKind.SUSPEND, CheckpointKind.END})
_TONES = {WaitKind.ATTENTION: STOPPED, WaitKind.GATE: WAITS}


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of a lane: what it was, and whether somebody or something was busy in it."""

    begin: datetime
    end: datetime
    tone: str
    what: str
    busy: bool


@dataclass(slots=True)
class Lane:
    """One step's visit, one effect, or one wait. `what` is which of them, `kind` the same with how often."""

    name: str
    what: str
    kind: str
    spans: list[Span] = field(default_factory=list)
    href_key: str = ""
    state: str = ""


def of(
    run: Run, points: Sequence[Row], waits: Sequence[Row], effects: Sequence[Row], now: datetime
) -> dict[str, Any] | None:
    """What _timeline.html shows; None before anything has happened. `points` are the newest first."""
    end = run.ended_at or now
    lanes = [*_steps(run, points, waits, end), *_effects(run, effects, waits, end), *_waits(waits, end)]
    lanes = sorted((lane for lane in lanes if lane.spans), key=lambda lane: lane.spans[0].begin)
    if not lanes:
        return None
    lanes = _together(lanes) if len(lanes) > APART else lanes
    shown = lanes[-LANES:]
    axis = Axis([one for lane in shown for one in lane.spans], end)
    return {
        "lanes": [_drawn(lane, axis) for lane in shown],
        "folds": [{"x": f"{x:.2f}%", "width": f"{wide:.2f}%", "middle": f"{x + wide / 2:.2f}%", "idle": idle}
                  for x, wide, idle, _ in axis.folds],
        "ticks": axis.ticks(ended=run.ended_at is not None),
        "whole": axis.whole,
        "busy": axis.whole - sum((idle for _, _, idle, _ in axis.folds), timedelta()),
        "left_out": len(lanes) - len(shown),
    }  # fmt: skip


def _steps(run: Run, points: Sequence[Row], waits: Sequence[Row], end: datetime) -> Iterable[Lane]:
    """A step has worked from the checkpoint before, or from the wait that ended since, to its own checkpoint."""
    lanes: dict[tuple[str, int], Lane] = {}
    ordered = list(reversed(points))
    for before, point in pairwise(ordered):
        if point["kind"] in _WORKED and point["step"]:
            _worked(
                lanes, (point["step"], point["visit"]), _began(before["at"], point["at"], waits), point["at"]
            )
    if run.state == RunState.RUNNING and ordered:
        _worked(lanes, (run.step, run.visit), _began(ordered[-1]["at"], end, waits), end, tone=MOVING)
    return lanes.values()


def _worked(
    lanes: dict[tuple[str, int], Lane],
    place: tuple[str, int],
    begin: datetime,
    end: datetime,
    tone: str = DONE,
) -> None:
    visit = f", visit {place[1]}" if place[1] > 1 else ""
    lane = lanes.setdefault(place, Lane(place[0], "step", f"step{visit}"))
    lane.spans.append(Span(begin, max(begin, end), tone, "worked", busy=True))


def _began(before: datetime, end: datetime, waits: Sequence[Row]) -> datetime:
    begins = before
    for wait in waits:
        if wait["closed_at"] and begins < wait["closed_at"] <= end:
            begins = wait["closed_at"]
    return begins


def _effects(run: Run, effects: Sequence[Row], waits: Sequence[Row], end: datetime) -> Iterable[Lane]:
    gated = {wait["effect__key"] for wait in waits if wait["kind"] == WaitKind.GATE}
    for effect in effects:
        lane = Lane(effect["tool"], "effect", "effect", href_key=effect["key"], state=effect["state"])
        sent, settled = effect["first_sent_at"], effect["settled_at"] or end
        if effect["key"] in gated:
            asked = effect["recorded_at"]
            lane.spans.append(
                Span(asked, max(sent or settled, asked), WAITS, "waited for people", busy=False)
            )
        if sent:
            doubt = effect["state"] == EffectState.IN_DOUBT
            tone, what = (DOUBT, "in doubt") if doubt else (MOVING, "sent, looked up")
            lane.spans.append(Span(sent, max(settled, sent), tone, what, settled - sent <= _IN_FLIGHT))
        yield lane


def _together(lanes: Sequence[Lane]) -> list[Lane]:
    """The same stretches in fewer lanes, for a run that goes in rounds. Each stays where its first one began."""
    alike: dict[tuple[str, str, str], list[Lane]] = {}
    for lane in lanes:
        alike.setdefault((lane.name, lane.what, lane.state), []).append(lane)
    found = []
    for (name, what, state), group in alike.items():
        if len(group) == 1:
            found.append(group[0])
            continue
        kind = f"step, {len(group)} visits" if what == "step" else f"{len(group)} {what}s"
        found.append(Lane(name, what, kind, [one for lane in group for one in lane.spans], state=state))
    return found


def _waits(waits: Sequence[Row], end: datetime) -> Iterable[Lane]:
    for wait in waits:
        kind = WaitKind(wait["kind"])
        if kind is WaitKind.GATE or wait["effect__key"]:
            continue  # its effect's lane has it
        until = wait["closed_at"] or end
        name = kind.value if kind in (WaitKind.HOLD, WaitKind.TIMER) else wait["name"]
        waited = Span(
            wait["opened_at"], max(until, wait["opened_at"]), _TONES.get(kind, QUIET), "waited", False
        )
        yield Lane(
            name, "wait", "wait", [waited], state=wait["name"] if kind is WaitKind.ATTENTION else kind.value
        )


class Axis:
    """Where a moment stands between 0 and 100, busy stretches to scale and long idle ones folded."""

    def __init__(self, spans: Sequence[Span], end: datetime) -> None:
        self.begin = min(one.begin for one in spans)
        self.end = max([end, *(one.end for one in spans)])
        self.whole = self.end - self.begin
        pieces = list(self._pieces(spans))
        long = [one for one in pieces if one[2]]
        busy = sum(((b - a).total_seconds() for a, b, folded in pieces if not folded), 0.0)
        takes = (_FOLD_TAKES, _FOLDS_TAKE) if busy else (100.0, 100.0)
        fold = min(takes[0], takes[1] / len(long)) if long else 0.0
        rest = 100.0 - fold * len(long)
        self.folds: list[tuple[float, float, timedelta, datetime]] = []
        self._marks: list[tuple[datetime, float]] = [(self.begin, 0.0)]
        x = 0.0
        for a, b, folded in pieces:
            wide = fold if folded else rest * (b - a).total_seconds() / busy if busy else 0.0
            if folded:
                self.folds.append((x, wide, b - a, b))
            x += wide
            self._marks.append((b, x))

    def _pieces(self, spans: Sequence[Span]) -> Iterable[tuple[datetime, datetime, bool]]:
        """The whole time as stretches that touch: busy or short ones, and idle ones that are folded."""
        at = self.begin
        busy = sorted((one.begin, one.end) for one in spans if one.busy)
        for begin, end in [*busy, (self.end, self.end)]:
            if begin - at > IDLE:
                yield at, begin, True
                at = begin
            if end > at:
                yield at, end, False
                at = end

    def at(self, when: datetime) -> float:
        """Return the place of a moment in per cent."""
        for (a, left), (b, right) in pairwise(self._marks):
            if when <= b:
                share = (when - a) / (b - a) if b > a else 0.0
                return left + (right - left) * min(max(share, 0.0), 1.0)
        return self._marks[-1][1]

    def ticks(self, *, ended: bool) -> list[dict[str, Any]]:
        """Moments to name under the drawing: its begin, where work went on, and its end."""
        found = [{"x": "0%", "anchor": "start", "at": whole_minute(self.begin), "word": ""}]
        last = 0.0
        for x, wide, _, until in self.folds:
            if 22 < x + wide < 78 and x + wide - last > 22:
                last = x + wide
                found.append({"x": f"{last:.2f}%", "anchor": "middle", "at": whole_minute(until), "word": ""})
        return [
            *found,
            {
                "x": "100%",
                "anchor": "end",
                "at": whole_minute(self.end),
                "word": "" if ended else "now ",
            },
        ]


def _drawn(lane: Lane, axis: Axis) -> dict[str, Any]:
    bars, told = [], []
    for one in lane.spans:
        x = min(axis.at(one.begin), 100 - _NARROWEST)
        wide = max(axis.at(one.end) - x, _NARROWEST)
        bars.append({"x": f"{x:.2f}%", "width": f"{wide:.2f}%", "tone": one.tone, "busy": one.busy})
        told.append(f"{one.what} from {moment(one.begin)} for {span(one.end - one.begin)}")
    if len(told) > _TOLD:
        told[_TOLD:] = [f"{len(told) - _TOLD} more"]
    return {
        "name": lane.name,
        "what": lane.what,
        "kind": lane.kind,
        "key": lane.href_key,
        "state": lane.state,
        "bars": bars,
        "words": "; ".join(told),
    }
