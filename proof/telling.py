"""A run's story in words, derived from its ledger, its checkpoints and the vendor's book, and from nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from durable import journal, plan
from durable.models import Checkpoint, LedgerEvent, Run
from durable.money import from_minor
from durable.states import EventKind

Book = Iterable[Mapping[str, Any]]


def lines(run: Run, book: Book) -> list[str]:
    """Return what happened in the run, one line an event, in the ledger's order."""
    moved = {one["key"]: datetime.fromtimestamp(one["at"], UTC) for one in book}
    open_keys: list[str] = []
    told: list[str] = []
    for event in journal.events(run.ref):
        body = json.loads(event.body)
        step = event.effect_key.removeprefix(f"{run.ref}:")
        match event.kind:
            case EventKind.STARTED:
                told.append(f"start  {run.ref}")
            case EventKind.SENT:
                open_keys.append(event.effect_key)
            case EventKind.APPLIED:
                open_keys.remove(event.effect_key)
                told.append(f"  refund    {step} -> {body['receipt']} for {_amount(body)}")
            case EventKind.ADOPTED:
                open_keys.remove(event.effect_key)
                told.append(f"  reconcile {step} -> it did happen, adopting {body['receipt']}")
            case EventKind.LOOKED_UP:
                told.append(f"  reconcile {step} -> the vendor shows nothing of it")
            case EventKind.ATTEMPT_LOST:
                told += [_crash(run, key, key in moved and moved[key] < event.at) for key in open_keys]
            case EventKind.RESUMED:
                told.append(f"resume {run.ref} at step {_place(run, body['version'])}")
    return told


def _crash(run: Run, key: str, acted: bool) -> str:
    step = key.removeprefix(f"{run.ref}:")
    return f"  CRASH     {'after' if acted else 'before'} acting on {step}, before recording it"


def _place(run: Run, version: int) -> int:
    """How many steps of the plan were behind the run at a checkpoint."""
    checkpoint = Checkpoint.objects.get(run=run, version=version)
    return list(plan.get(run.agent).steps).index(checkpoint.next_step)


def _amount(body: Mapping[str, Any]) -> str:
    return f"{from_minor(body['amount_minor'], body['currency']).normalize():f}"


def ledger_total(run: Run) -> Decimal:
    """Return the sum of what the run's ledger calls applied, in major units."""
    kinds = [EventKind.APPLIED.value, EventKind.ADOPTED.value]
    bodies = [json.loads(event.body) for event in LedgerEvent.objects.filter(run_ref=run.ref, kind__in=kinds)]
    return sum((from_minor(body["amount_minor"], body["currency"]) for body in bodies), Decimal(0))


def moved(book: Book, charge: str) -> list[Decimal]:
    """Return the amounts of a charge that really moved, in order."""
    return [Decimal(one["amount"]) for one in book if one["target"] == charge]


def plain(amounts: Iterable[Decimal]) -> str:
    """Write amounts as the story tells them: [10, 25, 40, 5]."""
    return f"[{', '.join(f'{amount.normalize():f}' for amount in amounts)}]"


def steps_done(run: Run) -> str:
    """Return how many of the plan's steps are behind the run."""
    newest = Checkpoint.objects.filter(run=run).latest("version")
    return f"{len(newest.progress)}/{len(plan.get(run.agent).steps)}"
