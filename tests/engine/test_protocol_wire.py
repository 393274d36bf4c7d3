"""What another session of the database sees at the moment when the vendor has the request in hand."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from typing import Any

import psycopg
import psycopg.rows
import pytest
from django.db import connection

from durable import clock, faults, runs
from durable.digest import canonical, sha256
from durable.models import Effect
from durable.states import RunState
from durable.vendor import Call
from local.pytest_plugin import SHARED
from tests.engine import desk, people, tools
from tests.vendors import Vendor

pytestmark = pytest.mark.usefixtures("kit")


class Witness:
    """A connection of its own: it sees only what is committed."""

    def __init__(self, opened: psycopg.Connection[dict[str, Any]]) -> None:
        self.opened = opened
        self.seen: list[dict[str, Any]] = []
        self.busy: list[str] = []

    def look(self, call: Call) -> None:
        """What is committed about the key on the wire, and what the product's sessions have open."""
        row = self.opened.execute("SELECT * FROM durable_effect WHERE key = %s", [call.key]).fetchone()
        events = self.opened.execute(
            "SELECT kind, body FROM durable_ledgerevent WHERE effect_key = %s ORDER BY no", [call.key]
        ).fetchall()
        self.seen.append({"effect": row, "events": events, "call": call})
        sessions = self.opened.execute(
            "SELECT state, query FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
            " AND backend_type = 'client backend' AND xact_start IS NOT NULL"
        ).fetchall()
        self.busy += [f"{one['state']}: {one['query']}" for one in sessions]


@pytest.fixture
def witness(kit: Vendor) -> Iterator[Witness]:
    admin = str(json.loads(os.environ[SHARED])["admin"]).format(connection.settings_dict["NAME"])
    with psycopg.connect(admin, autocommit=True, row_factory=psycopg.rows.dict_row) as opened:
        found = Witness(opened)
        tools.before.append(found.look)
        yield found


def payload_digest(call: Call, tool: str) -> str:
    """The digest of what the adapter was handed, recomputed from the call alone."""
    body = {"tool": tool, "version": 1, "vendor": "bank", "account": "", "args": dict(call.args)}
    return sha256(canonical(body))


@pytest.mark.parametrize("kind", tools.CLASSES, ids=lambda one: one.name)
def test_intent_and_sent_are_committed_with_key_and_digest_before_the_first_byte(
    vendor: Vendor, witness: Witness, kind: tools.VendorClass
) -> None:
    vendor.modes(**kind.modes)
    tools.asks((kind.tool, {"charge": tools.charge(vendor), "amount": Decimal("40.00")}))
    assert desk.drive(tools.start()).state == RunState.COMPLETED
    (seen,) = witness.seen
    assert seen["effect"]["state"] == "pending" and seen["effect"]["open_sends"] == 1
    assert [event["kind"] for event in seen["events"]] == ["intent", "sent"]
    digest = payload_digest(seen["call"], kind.tool.name)
    assert {json.loads(event["body"])["digest"] for event in seen["events"]} == {digest}
    assert seen["effect"]["digest"] == digest


def test_no_transaction_is_open_while_a_vendor_is_asked(vendor: Vendor, witness: Witness) -> None:
    tools.asks(
        (tools.keyed, {"charge": tools.charge(vendor), "amount": Decimal("40.00")}),
        (tools.set_aside, {"sku": "MUG-BLUE"}),
        (tools.wire_out, {"charge": tools.charge(vendor), "amount": Decimal("40.00")}),
    )
    run = desk.drive(tools.start())
    people.say(run)
    desk.drive(run)
    runs.compensate(run.ref, actor="olga", reason="mistake")
    desk.drive(run)
    assert len(witness.seen) == 4  # three acts and the one undo
    assert witness.busy == []


def test_a_gated_effect_leaves_after_its_approval_with_the_bytes_that_were_approved(
    vendor: Vendor, witness: Witness
) -> None:
    tools.asks((tools.wire_out, {"charge": tools.charge(vendor), "amount": Decimal("40.00")}))
    run = desk.drive(tools.start())
    approved = people.say(run)
    desk.drive(run)
    (seen,) = witness.seen
    assert [event["kind"] for event in seen["events"]] == ["intent", "gated", "approved", "sent"]
    assert approved.digest == payload_digest(seen["call"], "wire_out")


def test_each_send_has_its_own_committed_sent_event(vendor: Vendor, witness: Witness) -> None:
    vendor.fault("status", status=503, method="POST", path="/v1/refunds")
    tools.asks((tools.keyed, {"charge": tools.charge(vendor), "amount": Decimal("40.00")}))
    desk.drive(tools.start())
    sent = [[e["kind"] for e in seen["events"]].count("sent") for seen in witness.seen]
    assert sent == [1, 2]
    assert len(vendor.requests("POST", "/v1/refunds")) == 2


def test_one_sent_event_is_one_request_whatever_the_client_would_like(vendor: Vendor) -> None:
    for fault in ("drop", "reset", "status"):
        vendor.fault(fault, method="POST", path="/v1/refunds")
    tools.asks((tools.keyed, {"charge": tools.charge(vendor), "amount": Decimal("40.00")}))
    run = desk.drive(tools.start())
    for _ in range(6):
        tools.later(run, seconds=30)
    assert run.state == RunState.COMPLETED
    assert tools.kinds(run).count("sent") == len(vendor.requests("POST", "/v1/refunds"))


def test_a_worker_whose_machine_slept_past_the_send_by_takes_a_new_leave_to_send(
    vendor: Vendor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The clock that counts a sleeping machine jumps between the `sent` event and the wire."""
    tools.asks((tools.keyed, {"charge": tools.charge(vendor), "amount": Decimal("40.00")}))
    run = tools.start()
    real, slept = clock.elapsed, [0.0]

    def elapsed() -> float:
        if Effect.objects.filter(run=run, sends=1, open_sends=1).exists():
            slept[0] = 3600.0
        return real() + slept[0]

    monkeypatch.setattr(clock, "elapsed", elapsed)
    desk.drive(run)
    assert tools.kinds(run) == ["intent", "sent", "not sent", "sent", "applied"]
    assert len(vendor.requests("POST", "/v1/refunds")) == 1
    assert vendor.moved() == [Decimal("40.00")]


@pytest.mark.parametrize("place", ["before the check", "in the tool's own code"])
def test_a_worker_that_sleeps_between_sent_and_the_first_byte_sends_nothing(
    vendor: Vendor, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """Stopped before the last check, or after it and before the wire: the wire looks once more."""
    tools.asks((tools.keyed, {"charge": tools.charge(vendor), "amount": Decimal("40.00")}))
    run = tools.start()
    real, slept = clock.elapsed, [0.0]

    def sleep(*_: object) -> None:
        slept[0] = 3600.0
        tools.before.clear()

    if place == "before the check":
        faults.arm("vendor.before_call", sleep)
    else:
        tools.before.append(sleep)
    monkeypatch.setattr(clock, "elapsed", lambda: real() + slept[0])
    desk.drive(run)
    if run.state != RunState.COMPLETED:  # the step's own time was slept away as well
        tools.later(run, minutes=1)
    assert tools.kinds(run)[:3] == ["intent", "sent", "not sent"]
    assert len(vendor.requests("POST", "/v1/refunds")) == 1
    assert vendor.moved() == [Decimal("40.00")]


def test_the_call_is_capped_by_what_is_left_until_its_send_by_and_that_lies_in_the_lease(
    vendor: Vendor, witness: Witness, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    far = desk.timedelta(minutes=10)
    monkeypatch.setattr(tools.keyed, "facts", replace(tools.keyed.facts, send_within=far))
    tools.asks((tools.keyed, {"charge": tools.charge(vendor), "amount": Decimal("40.00")}))
    desk.drive(tools.start())
    (seen,) = witness.seen
    lease = settings.LEASE_SECONDS.total_seconds()
    assert 0 < seen["call"].timeout <= 0.8 * lease
    assert (seen["effect"]["send_by"] - seen["effect"]["last_sent_at"]).total_seconds() <= 0.8 * lease + 0.1
