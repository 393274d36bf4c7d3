"""What must be true when a schedule is over. The vendor's own book is the witness, never the code under test.

What moved is counted by whom it moved for (charge or article), so that a second key, linked or not, hides nothing.
Only then the product's own account is held against it: ledger, budget, chain, and the run's end.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC
from typing import Any

from durable.models import Effect, LedgerEvent, Purse, Run, Wait
from durable.states import ENDED, OPEN, EventKind, RunState, WaitState
from proof.schedules import errand
from proof.schedules.notes import Notes
from proof.schedules.plan import ACTS, Schedule

Entry = Mapping[str, Any]
_SETTLED = (EventKind.APPLIED.value, EventKind.ADOPTED.value)


@dataclass(frozen=True)
class Moved:
    """What the book says about one act: the movements there, and those back."""

    there: tuple[Entry, ...]
    back: tuple[Entry, ...]


def read(book: Sequence[Entry], names: Mapping[str, str]) -> dict[str, Moved]:
    """Return the book's account of the two acts that a schedule may have."""
    return {
        act: Moved(
            tuple(e for e in book if e["target"] == names[act] and _pieces(e) > 0),
            tuple(
                e
                for e in book
                if e["target"] == names.get(f"{act}_back") or (e["target"] == names[act] and _pieces(e) < 0)
            ),
        )
        for act in ("first", "second")
    }


def _pieces(entry: Entry) -> int:
    """Pieces of goods, with the sign of their way; 1 for money."""
    return int(entry["metadata"]["quantity"]) if entry["amount"] is None else 1


def violations(schedule: Schedule, notes: Notes, run: Run, book: Sequence[Entry]) -> list[str]:
    """Return each thing that is not as it must be, in one sentence."""
    run.refresh_from_db()
    events = list(LedgerEvent.objects.filter(run_ref=run.ref).order_by("no"))
    moved = read(book, notes.names)
    return [
        *_movements(schedule, run, events, moved),
        *_stray(book, moved),
        *_leave(schedule, notes, events, book),
        *_ledger(events, book),
        *_budget(schedule, run, moved),
        *_ends(run),
        *chain(events),
    ]


def _movements(
    schedule: Schedule, run: Run, events: Sequence[LedgerEvent], moved: Mapping[str, Moved]
) -> Iterator[str]:
    completed = any(event.kind == EventKind.COMPLETED for event in events)
    for act, found in moved.items():
        if len(found.there) > 1:
            yield f"the {act} act moved {len(found.there)} times"
        if len(found.back) > len(found.there):
            yield f"the {act} act was undone {len(found.back)} times, and had moved {len(found.there)} times"
        if completed and schedule.reviewer != "no" and act in ACTS[schedule.errand] and not found.there:
            yield f"the run completed, and its {act} act never moved"
        must_be_back = run.state == RunState.COMPENSATED or (
            run.state == RunState.PARTLY_COMPENSATED and act == "first" and schedule.reviewer != "no"
        )
        if must_be_back and len(found.back) != len(found.there):
            yield f"the run is {run.state}, and its {act} act was undone {len(found.back)} times"
        right = _right(schedule, act)
        for entry in (*found.there, *found.back):
            if (much := _much(entry)) not in right:
                yield f"the {act} act moved {much}, not {right[0]}"


def _right(schedule: Schedule, act: str) -> tuple[int, ...]:
    much = errand.SECOND if act == "second" else errand.FIRST
    edited = (errand.LESS,) if act == "second" and schedule.reviewer == "edit" else ()
    return (much, *edited, *((much + 1,) if schedule.new_code else ()))


def _much(entry: Entry) -> int:
    """Major units or pieces."""
    return abs(_pieces(entry)) if entry["amount"] is None else int(float(entry["amount"]))


def _stray(book: Sequence[Entry], moved: Mapping[str, Moved]) -> Iterator[str]:
    known = {e["id"] for found in moved.values() for e in (*found.there, *found.back)}
    for entry in book:
        if entry["id"] not in known:
            yield f"{entry['id']} moved for nobody's sake"


def _leave(
    schedule: Schedule, notes: Notes, events: Sequence[LedgerEvent], book: Sequence[Entry]
) -> Iterator[str]:
    """Nothing that needs a person's yes has left without one, to that very payload."""
    said: dict[str, set[str]] = {yes.partition(" ")[0]: set() for yes in notes.yeses}
    for yes in notes.yeses:
        key, _, digest = yes.partition(" ")
        said[key].add(digest)
    for entry in book:
        if _needs_yes(schedule, notes, entry) and entry["key"] not in said:
            yield f"{entry['key']} moved, and nobody had approved it"
    for event in events:
        if event.kind == EventKind.SENT and event.effect_key in said:
            digest = json.loads(event.body)["digest"]
            if digest not in said[event.effect_key]:
                yield f"{event.effect_key} was sent with a payload that nobody had approved"


def _needs_yes(schedule: Schedule, notes: Notes, entry: Entry) -> bool:
    undo = ":undo" in entry["key"]
    if "~" in entry["key"].rpartition(":")[2]:
        return True  # linked to a key of which a person said that it never acted
    if undo:
        return schedule.vendor.trade == "blind"
    return bool(entry["target"] == notes.names["second"])


def _ledger(events: Sequence[LedgerEvent], book: Sequence[Entry]) -> Iterator[str]:
    """The ledger and the book name the same receipts, under the same keys, for the same sums."""
    recorded = [
        (event.effect_key, body["receipt"], body.get("amount_minor"))
        for event in events
        if event.kind in _SETTLED
        for body in [json.loads(event.body)]
    ]
    booked = [(entry["key"], entry["id"], entry["amount_minor"]) for entry in book]
    for key, receipt, _ in sorted({*recorded} - {*booked}, key=str):
        yield f"{key} stands in the ledger with {receipt}; the book has it otherwise"
    for key, receipt, _ in sorted({*booked} - {*recorded}, key=str):
        yield f"{key} moved as {receipt}, and the ledger does not say so"
    if len(recorded) != len({*recorded}):
        yield "the ledger has one movement twice"


def _budget(schedule: Schedule, run: Run, moved: Mapping[str, Moved]) -> Iterator[str]:
    """Counters are the sums of their entries, and nothing stays reserved."""
    budget = run.budget
    budget.refresh_from_db()
    for purse in Purse.objects.filter(budget=budget):
        spent = sum(int(e["amount_minor"] or 0) for found in moved.values() for e in found.there)
        if (purse.spent_minor, purse.reserved_minor) != (spent, 0):
            yield (
                f"the purse has {purse.spent_minor} spent and {purse.reserved_minor} reserved; "
                f"{spent} moved and nothing is open"
            )
    newest = run.checkpoints.latest("version")
    if budget.steps_used != sum(newest.progress.values()):
        yield f"{budget.steps_used} steps are counted, {sum(newest.progress.values())} were done"
    lost = budget.tokens_used % errand.THOUGHT_MAY_COST in (0, errand.THOUGHT_COSTS)
    most = errand.THOUGHT_COSTS + errand.THOUGHT_MAY_COST * len(schedule.deaths)
    if budget.tokens_reserved or not lost or budget.tokens_used > most:
        yield f"{budget.tokens_used} tokens are counted and {budget.tokens_reserved} reserved"


def _ends(run: Run) -> Iterator[str]:
    """The run has ended, and nothing of it is open but what a named person must still look at."""
    if run.state not in ENDED:
        yield f"the run is {run.state}"
    if run.lease_until is not None or run.due_at is not None:
        yield "an ended run is held or due"
    for effect in Effect.objects.filter(run=run, state__in=[s.value for s in OPEN]):
        yield f"{effect.key} is {effect.state}, and the run {run.state}"
    for wait in Wait.objects.filter(run=run, state=WaitState.OPEN.value):
        if not (wait.detail.get("alarm") and wait.waits_for):
            yield f"the run is {run.state}, and still waits: {wait.kind} {wait.name}"


def chain(events: Sequence[LedgerEvent]) -> Iterator[str]:
    """Each event's hash is over the hash before it and its own eight lines; numbers have no gap."""
    head = b""
    for no, event in enumerate(events, 1):
        at = event.at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        lines = ("interlock-1", event.run_ref, str(event.no), event.kind, event.effect_key, event.actor, at)
        head = hashlib.sha256(head + "\n".join((*lines, event.body)).encode()).digest()
        if event.no != no or bytes(event.hash) != head:
            yield f"the chain of {event.run_ref} breaks at event {no}"
            return
