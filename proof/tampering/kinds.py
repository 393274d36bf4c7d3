"""The eight kinds of tampering: each takes a run's events and gives what a superuser would put in their place.

What is returned names the place that must be found: the number in the run from which on it is not what it was.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from types import MappingProxyType

from proof.tampering.hand import Event

#: Events in place of others, and the number of the first that is affected.
Changed = tuple[list[Event], int]
Kind = Callable[[random.Random, Sequence[Event], int], Changed]


def edit(chance: random.Random, events: Sequence[Event], free: int) -> Changed:
    """Another actor, kind or body."""
    place = chance.randrange(len(events))
    return _with(events, place, _other(chance, events[place])), events[place].no


def delete(chance: random.Random, events: Sequence[Event], free: int) -> Changed:
    """One is taken out of the middle, or from the beginning."""
    place = chance.randrange(len(events) - 1)
    return [*events[:place], *events[place + 1 :]], events[place].no


def insert(chance: random.Random, events: Sequence[Event], free: int) -> Changed:
    """One that never was, before another; those behind it move up."""
    place = chance.randrange(len(events))
    forged = replace(_other(chance, events[place]), id=free)
    behind = [replace(event, no=event.no + 1) for event in events[place:]]
    return [*events[:place], forged, *behind], events[place].no


def reorder(chance: random.Random, events: Sequence[Event], free: int) -> Changed:
    """Two change places; the moments stay where they were, as a chain whose time runs back betrays itself."""
    one, other = sorted(chance.sample(range(len(events)), 2))
    first, second = events[one], events[other]
    found = _with(events, one, replace(second, no=first.no, at=first.at))
    return _with(found, other, replace(first, no=second.no, at=second.at)), first.no


def truncate(chance: random.Random, events: Sequence[Event], free: int) -> Changed:
    """The end is cut off."""
    left = chance.randrange(1, len(events))
    return list(events[:left]), events[left].no


def fork(chance: random.Random, events: Sequence[Event], free: int) -> Changed:
    """A second one follows the same event."""
    place = chance.randrange(len(events))
    other = replace(_other(chance, events[place]), id=free)
    other = replace(other, hash=other.after(events[place - 1].hash if place else b""))
    return [*events[: place + 1], other, *events[place + 1 :]], events[place].no


def back_date(chance: random.Random, events: Sequence[Event], free: int) -> Changed:
    """It says that it became true earlier, or later."""
    place = chance.randrange(len(events))
    far = timedelta(seconds=chance.choice((-86_400 * 30, -3_600, -1, 1, 86_400)))
    return _with(events, place, replace(events[place], at=events[place].at + far)), events[place].no


#: Of the swapped payload `swapping` knows more: it changes what stands beside the events.
CHAINED: Mapping[str, Kind] = MappingProxyType(
    {
        "edit": edit,
        "delete": delete,
        "insert": insert,
        "reorder": reorder,
        "truncate": truncate,
        "fork": fork,
        "back-date": back_date,
    }
)
SWAPPED = "swapped payload"


def _with(events: Sequence[Event], place: int, event: Event) -> list[Event]:
    return [*events[:place], event, *events[place + 1 :]]


def _other(chance: random.Random, event: Event) -> Event:
    """The same in its place, with something else in it."""
    match chance.randrange(3):
        case 0:
            return replace(event, actor=f"{event.actor} and mallory")
        case 1:
            return replace(event, kind="approved" if event.kind != "approved" else "rejected")
        case _:
            return replace(event, body=json.dumps({**json.loads(event.body), "amount_minor": 1_000_000}))
