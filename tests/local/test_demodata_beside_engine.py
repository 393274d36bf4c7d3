"""Invented runs beside real ones of the same course: the same rows, columns and events, whatever the engine becomes."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest
from django.db import connection

from approvals.states import Verdict
from durable import runs
from durable.models import EventDetail, LedgerEvent, Run
from local.demodata import load
from local.demodata.cast import KINDS, Plan
from tests.engine import desk, people, tools
from tests.vendors import Vendor, vendor, vendor_process

__all__ = ["vendor", "vendor_process"]
pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "owner"])
#: Every table with rows of a run, and how its rows are found.
TABLES = {
    "durable_run": "id = %(id)s",
    "durable_budget": "id = (SELECT budget_id FROM durable_run WHERE id = %(id)s)",
    "durable_purse": "budget_id = (SELECT budget_id FROM durable_run WHERE id = %(id)s)",
    "durable_effect": "run_id = %(id)s",
    "durable_subject": "effect_id IN (SELECT id FROM durable_effect WHERE run_id = %(id)s)",
    "durable_wait": "run_id = %(id)s",
    "durable_attempt": "run_id = %(id)s",
    "durable_checkpoint": "run_id = %(id)s",
    "durable_frozen": "run_id = %(id)s",
    "durable_sealed": "run_id = %(id)s",
    "durable_sealkey": "run_id = %(id)s",
    "durable_message": "branch_id = (SELECT branch_id FROM durable_run WHERE id = %(id)s)",
    "durable_chain": "run_ref = %(ref)s",
    "durable_ledgerevent": "run_ref = %(ref)s",
    "durable_eventdetail": "event_id IN (SELECT id FROM durable_ledgerevent WHERE run_ref = %(ref)s)",
    "approvals_gate": "effect_id IN (SELECT id FROM durable_effect WHERE run_id = %(id)s)",
    "approvals_decision": "gate_id IN (SELECT g.id FROM approvals_gate g JOIN durable_effect e ON e.id = effect_id "
    "WHERE e.run_id = %(id)s)",
}
#: What differs by nature: names, numbers, amounts, moments, what a person or a vendor has said.
_FREE = re.compile(
    r"(^|_)(id|ref|nonce|worker|box|wrapped|head|hash|digest|digest_asked|args_digest|input|input_digest|start_key"
    r"|requester|actor|closed_by|content|error|result|body|facts|once_per|receipt_id|key|name|effect_key"
    r"|authenticated|reason|detail|state|applied_no|currency)$"
)


def shape(run: Run) -> dict[str, Counter[str]]:
    """What a run left behind, free of what differs by nature: each row as its columns, and whether they are null."""
    found = {}
    with connection.cursor() as cursor:
        for table, where in TABLES.items():
            cursor.execute(f"SELECT to_jsonb(t) FROM {table} t WHERE {where}", {"id": run.pk, "ref": run.ref})
            found[table] = Counter(_plain(table, json.loads(row)) for (row,) in cursor.fetchall())
    return found


def _plain(table: str, row: dict[str, Any]) -> str:
    kept = {}
    for name, value in row.items():
        moment = isinstance(value, str) and re.match(r"\d{4}-\d\d-\d\dT", value)
        words = name == "state" and isinstance(value, str)
        free = value is not None and not words and (bool(moment) or bool(_FREE.search(name)))
        kept[name] = "…" if free and value != "" else value
        if name.endswith("_minor"):
            kept[name] = "some" if value else value
    kept.pop("hinted_at", None)  # what is left of an announcement says nothing
    if table == "durable_checkpoint":
        kept["state"] = sorted(row["state"]) if row["state"] else row["state"]
    return json.dumps(kept, sort_keys=True)


def story(run: Run) -> Iterator[tuple[str, str, str, list[str], bool]]:
    """The events of a run: what, about which key, by whom, the names of the facts, and whether there are words."""
    worded = {*EventDetail.objects.filter(event__run_ref=run.ref).values_list("event_id", flat=True)}
    for event in LedgerEvent.objects.filter(run_ref=run.ref).order_by("no"):
        who = "engine" if event.actor == "interlock" else "worker" if ":" in event.actor else "person"
        key = event.effect_key.removeprefix(run.ref)
        yield event.kind, key, who, sorted(json.loads(event.body)), event.pk in worded


@dataclass(frozen=True)
class Course:
    """What a real run is started with, and what is done to it then, so that it goes as the story of that name."""

    amount: str = "40.00"
    status: str = "delivered"
    ticket: dict[str, str] = field(default_factory=dict)
    then: Callable[[Run], object] | None = None
    driven: bool = True


def says(verdict: Verdict) -> Callable[[Run], object]:
    """Marta's answer, without a word: invented people say nothing to a yes either."""
    return lambda run: people.say(run, verdict, by="marta", words="")


LARGE, LETTER, GOODS = "140.00", {"reply_to": "ines@example.org"}, {"wants": "replacement"}
WHY = "The customer wants it so."
COURSES = {
    "refunded": Course(),
    "refunded_large": Course(LARGE, then=says(Verdict.APPROVE)),
    "refunded_told": Course(ticket=LETTER, then=says(Verdict.APPROVE)),
    "refunded_untold": Course(ticket=LETTER, then=says(Verdict.REJECT)),
    "replaced": Course(ticket=GOODS),
    "refused": Course(LARGE, then=says(Verdict.REJECT)),
    "given_up": Course(status="cancelled", then=lambda run: None),
    "cancelled": Course(LARGE, then=lambda run: runs.cancel(run.ref, actor="sven", reason=WHY)),
    "compensated": Course(ticket=GOODS, then=lambda run: runs.compensate(run.ref, actor="sven", reason=WHY)),
    "partly_compensated": Course(then=lambda run: runs.compensate(run.ref, actor="sven", reason=WHY)),
    "waits_for_yes": Course(LARGE),
    "letter_waits": Course(ticket=LETTER),
    "asked_back": Course(LARGE, then=says(Verdict.ASK_BACK)),
    "held": Course(then=lambda run: runs.hold(run.ref, actor="sven", reason=WHY), driven=False),
    # Last, because days go by for all of them.
    "expired": Course(LARGE, then=lambda run: tools.later(run, days=4)),
}


def invent() -> dict[str, Run]:
    """Fill the database with one run of each course, of these days."""
    numbers = {kind.tell.__name__: number for number, kind in enumerate(KINDS)}
    cast = Plan(bytes(numbers[name] for name in COURSES), len(COURSES))
    load.fill(load.Order(cast, 1, 1.0, datetime.now(UTC)), lambda line: None)
    return dict(zip(COURSES, Run.objects.order_by("id"), strict=True))


def real(vendor: Vendor, name: str, course: Course) -> Run:
    """The same course, really gone."""
    charge = vendor.seed_charge(course.amount)
    vendor.seed_order(name, course.amount, charge=charge, status=course.status)
    ticket = desk.ticket(name, text="Broken.", **course.ticket)
    run = runs.start("RefundDesk", ticket, actor="shop", key=f"ticket-{name}")
    if course.driven:
        desk.drive(run)
    if course.then is not None:
        course.then(run)
        desk.drive(run)
    return run


def test_invented_runs_have_the_rows_and_events_of_real_ones(vendor: Vendor) -> None:
    invented = invent()
    differences: dict[str, object] = {}
    for name, course in COURSES.items():
        mine, theirs = invented[name], real(vendor, name, course)
        if list(story(mine)) != list(story(theirs)):
            differences[name] = list(story(mine)), list(story(theirs))
        mine_rows, their_rows = shape(mine), shape(theirs)
        for table in TABLES:
            if mine_rows[table] != their_rows[table]:
                both = mine_rows[table] - their_rows[table], their_rows[table] - mine_rows[table]
                differences[f"{name}: {table}"] = [list(one) for one in both]

    assert differences == {}
