"""An effect's life as a drawing: every way that one may go, the way that this one went, and its place lit.

The drawing is the same for all effects, twice: broad, and narrow for a phone. What differs is which stations were
passed, when, and which one is the present one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils import timezone

from approvals import appearance, moments
from durable.models import Effect
from durable.states import OPEN, EffectState

_PROPOSED, _GATED, _APPROVED, _SENT = "proposed", "gated", "approved", "sent"
_REJECTED, _EXPIRED, _WITHDRAWN, _FAILED = "rejected", "expired", "withdrawn", "failed"
_DOUBT, _ADOPTED, _APPLIED, _COMPENSATED = "in doubt", "adopted", "applied", "compensated"

#: Column and row of each station: broad, narrow.
_PLACES: dict[str, tuple[tuple[int, int], tuple[int, int]]] = {
    _PROPOSED: ((0, 1), (0, 0)),
    _GATED: ((1, 1), (0, 1)),
    _REJECTED: ((1, 2), (1, 1)),
    _EXPIRED: ((2, 2), (1, 2)),
    _APPROVED: ((2, 1), (0, 2)),
    _SENT: ((3, 1), (0, 3)),
    _FAILED: ((4, 0), (1, 3)),
    _DOUBT: ((4, 2), (1, 4)),
    _WITHDRAWN: ((3, 2), (2, 3)),
    _ADOPTED: ((5, 2), (1, 5)),
    _APPLIED: ((5, 1), (0, 5)),
    _COMPENSATED: ((6, 1), (0, 6)),
}
_WAYS = (
    (_PROPOSED, _GATED),
    (_PROPOSED, _SENT),
    (_GATED, _APPROVED),
    (_GATED, _REJECTED),
    (_GATED, _EXPIRED),
    (_APPROVED, _SENT),
    (_APPROVED, _WITHDRAWN),
    (_SENT, _APPLIED),
    (_SENT, _FAILED),
    (_SENT, _DOUBT),
    (_DOUBT, _ADOPTED),
    (_DOUBT, _WITHDRAWN),
    (_ADOPTED, _APPLIED),
    (_APPLIED, _COMPENSATED),
)
#: The station that an event of the ledger leads to.
_BY_EVENT = {"intent": _PROPOSED, "linked": _PROPOSED} | {
    word: word for word in _PLACES if word not in (_PROPOSED, _COMPENSATED)
}
_LOOKS = {_PROPOSED: "intent"}


@dataclass(frozen=True, slots=True)
class _Sheet:
    """Sizes of one drawing, in its own units, which are pixels where it is shown at full size."""

    which: int
    name: str
    pitch: tuple[int, int]
    box: tuple[int, int]
    margin: int
    inset: int

    def corner(self, station: str) -> tuple[int, int]:
        column, row = _PLACES[station][self.which]
        return self.margin + column * self.pitch[0], self.margin + row * self.pitch[1]

    @property
    def size(self) -> tuple[int, int]:
        places = [both[self.which] for both in _PLACES.values()]
        columns, rows = max(place[0] for place in places), max(place[1] for place in places)
        return (
            2 * self.margin + columns * self.pitch[0] + self.box[0],
            2 * self.margin + rows * self.pitch[1] + self.box[1],
        )


_SHEETS = (
    _Sheet(0, "broad", (150, 62), (126, 42), 6, 8),
    _Sheet(1, "narrow", (116, 60), (108, 42), 14, 6),
)


def drawing(effect: Effect, log: Sequence[Mapping[str, Any]], *, undone: bool) -> dict[str, Any]:
    """What _life.html draws: `sheets` of stations and ways, and `words`, the same as a sentence."""
    passed = _passed(effect, log, undone=undone)
    here = _here(effect, undone=undone)
    passed.setdefault(here, None)
    ahead = _ahead(here) if EffectState(effect.state) in OPEN else frozenset()
    stations = [
        _station(station, passed, here, ahead, ungated=_GATED not in passed and here != _PROPOSED)
        for station in _PLACES
    ]
    return {
        "sheets": [_sheet(sheet, stations, passed) for sheet in _SHEETS],
        "words": "; ".join(f"{word} {at}".strip() for word, at in _told(passed)),
        "here": here,
    }


def _passed(effect: Effect, log: Sequence[Mapping[str, Any]], *, undone: bool) -> dict[str, datetime | None]:
    """The stations that the effect has been at, in their order, with the time of the last arrival."""
    found: dict[str, datetime | None] = {_PROPOSED: effect.recorded_at}
    for entry in reversed(log):
        station = _BY_EVENT.get(entry["kind"])
        if station is not None:
            found.pop(station, None)
            found[station] = entry["at"]
            if station == _ADOPTED:
                found[_APPLIED] = entry["at"]
    if effect.first_sent_at is not None:
        found.setdefault(_SENT, effect.last_sent_at)
    if undone:
        found[_COMPENSATED] = None
    return found


def _here(effect: Effect, *, undone: bool) -> str:
    if undone:
        return _COMPENSATED
    if effect.state == EffectState.PENDING:
        return _SENT if effect.sends else _PROPOSED
    return effect.state


def _ahead(here: str) -> frozenset[str]:
    """The stations that may still follow from here."""
    found: set[str] = set()
    edge = {here}
    while edge:
        edge = {two for one, two in _WAYS if one in edge} - found
        found |= edge
    return frozenset(found)


def _station(
    station: str,
    passed: Mapping[str, datetime | None],
    here: str,
    ahead: frozenset[str],
    *,
    ungated: bool,
) -> dict[str, Any]:
    look = appearance.of(_LOOKS.get(station, station))
    if station == here:
        kind = "here"
    elif station in passed:
        kind = "passed"
    else:
        kind = "ahead" if station in ahead else "other"
    note = _time(passed[station]) if station in passed else ""
    if not note and ungated and station == _GATED:
        note = "not asked"
    return {"word": station, "tone": look.tone, "icon": look.icon, "kind": kind, "note": note}


def _time(at: datetime | None) -> str:
    if at is None:
        return ""
    today = timezone.localtime(at).date() == timezone.localtime().date()
    return moments.absolute(at, clock="%H:%M:%S" if today else "%H:%M", zone=False)


def _told(passed: Mapping[str, datetime | None]) -> list[tuple[str, str]]:
    return [(station, _time(at)) for station, at in passed.items()]


def _sheet(
    sheet: _Sheet, stations: Sequence[Mapping[str, Any]], passed: Mapping[str, datetime | None]
) -> dict[str, Any]:
    width, height = sheet.size
    drawn = []
    for station in stations:
        x, y = sheet.corner(station["word"])
        inner = {"icon_x": x + sheet.inset, "icon_y": y + 13, "text_x": x + sheet.inset + 22}
        lines = {"word_y": y + 18, "note_y": y + 33, "middle_y": y + 26}
        drawn.append({**station, "x": x, "y": y, **inner, **lines})
    gone = _gone(passed)
    return {
        "name": sheet.name,
        "width": width,
        "height": height,
        "box": {"width": sheet.box[0], "height": sheet.box[1]},
        "stations": drawn,
        "ways": [{"d": _path(sheet, one, two), "gone": (one, two) in gone} for one, two in _WAYS],
    }


def _gone(passed: Mapping[str, datetime | None]) -> set[tuple[str, str]]:
    """The ways that this effect went: into each station from the one that it can have come from."""
    found = {(one, two) for one, two in _WAYS if one in passed and two in passed}
    if _GATED in passed:
        found.discard((_PROPOSED, _SENT))
    if _ADOPTED in passed:
        found.discard((_SENT, _APPLIED))
    return found


def _path(sheet: _Sheet, one: str, two: str) -> str:
    """A line from one station's edge to another's: straight along a row or column, else a bow."""
    (x1, y1), (x2, y2) = sheet.corner(one), sheet.corner(two)
    wide, high = sheet.box
    if (one, two) == (_PROPOSED, _SENT):
        if sheet.which == 0:
            top = y1 - 24
            start, end = x1 + wide // 2, x2 + wide // 2
            over = f"C{start} {top},{start} {top},{start + 40} {top} H{end - 40} C{end} {top},{end} {top},{end} {y2}"
            return f"M{start} {y1} {over}"
        return f"M{x1} {y1 + high // 2} C{x1 - 14} {y1 + high // 2},{x1 - 14} {y2 + high // 2},{x2} {y2 + high // 2}"
    if x1 == x2:
        down = y2 > y1
        return f"M{x1 + wide // 2} {y1 + high if down else y1} V{y2 if down else y2 + high}"
    right = x2 > x1
    sx, ex = (x1 + wide, x2) if right else (x1, x2 + wide)
    sy, ey = y1 + high // 2, y2 + high // 2
    if sy == ey:
        return f"M{sx} {sy} H{ex}"
    half = (sx + ex) // 2
    return f"M{sx} {sy} C{half} {sy},{half} {ey},{ex} {ey}"
