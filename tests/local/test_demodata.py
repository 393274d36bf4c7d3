"""Invented history: the product takes it for its own, it spoils nothing, and the guards are whole afterwards."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Iterator
from datetime import UTC, timedelta
from typing import Any

import psycopg
import pytest
from django.contrib.auth.models import User
from django.core import mail
from django.core.management import CommandError, call_command
from django.db import Error, connections
from django.test import Client

from approvals.models import Decision, Gate
from durable import clock, retention, runner, vault
from durable.digest import canonical, sha256
from durable.models import (
    Effect,
    LedgerEvent,
    Run,
    Sealed,
    StatementRequest,
    StatementTotal,
    Stop,
    Unexplained,
    VendorStatement,
    Wait,
)
from durable.recovery import sweep
from durable.states import Attention, EffectState, RunState
from durable.vendor_statements import making, requests
from local.demodata import cast, load
from local.demodata.chronicle import World
from local.pytest_plugin import SHARED
from tests import factories
from tests.engine import held, laws, stated
from tests.engine.stated import DAY
from tests.local import invented
from tests.vendors import Vendor, vendor, vendor_process

__all__ = ["vendor", "vendor_process"]

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "owner"])


@pytest.fixture(autouse=True)
def no_vendor(settings: Any) -> None:
    """Nobody listens there: a look-up can't say what became of anything."""
    settings.SHOP_API_BASE = settings.STRIPE_API_BASE = "http://127.0.0.1:9"


def test_what_is_made_obeys_every_law_of_the_engine() -> None:
    invented.fill(200)

    assert Run.objects.count() == 200
    laws.check(Run.objects.all(), [])
    assert {*Run.objects.values_list("state", flat=True)} == {
        state.value
        for state in (
            RunState.COMPLETED,
            RunState.SUSPENDED,
            RunState.FAILED,
            RunState.CANCELLED,
            RunState.COMPENSATED,
            RunState.PARTLY_COMPENSATED,
        )
    }
    assert {*EffectState} - {*Effect.objects.values_list("state", flat=True)} == {
        EffectState.PENDING,
        EffectState.APPROVED,
    }
    assert {*Wait.objects.filter(state="open", kind="attention").values_list("name", flat=True)} == {
        Attention.IN_DOUBT,
        Attention.RETRIES,
    }
    assert not retention.prunable().exists()
    keys = {run.pk: vault.open_key(run.pk, run.ref) for run in Run.objects.all()}
    for sealed in Sealed.objects.all():
        assert sha256(canonical(vault.unseal(keys[sealed.run_id], sealed))) == sealed.digest


def test_a_gate_of_it_is_answered_in_the_console_and_its_run_goes_on() -> None:
    invented.fill(cast.SMALLEST)
    gate = Gate.objects.get(state="open", effect__tool="send_email")
    run, marta = gate.effect.run, User.objects.get(username="marta")
    client = Client()
    client.force_login(marta)
    told = Run.objects.get(agent="ClaimsDesk")
    pages = [f"/gates/{gate.pk}/", f"/runs/{run.ref}/", f"/runs/{told.ref}/", f"/effects/{told.ref}:pay/"]
    for page in [*pages, "/gates/", "/runs/", "/ledger/"]:
        assert client.get(page).status_code == 200, page

    yes = {"verdict": "approve", "digest": gate.digest, "round": gate.round}
    assert client.post(f"/gates/{gate.pk}/decisions/", yes).status_code == 303
    runner.drive(run.ref)

    run.refresh_from_db()
    assert run.state == RunState.COMPLETED
    assert len(mail.outbox) == 1
    held.check_chains()
    held.check_purses()


def test_the_sweeper_finds_nothing_in_it_to_set_right() -> None:
    invented.fill(cast.SMALLEST)
    before = LedgerEvent.objects.count()

    found = sweep()

    assert {name: count for name, count in found.items() if count} == {"doubts": 1}
    assert LedgerEvent.objects.count() == before


def test_a_used_database_is_refused_and_keeps_what_it_has() -> None:
    invented.fill(cast.SMALLEST)
    rows = list(Run.objects.order_by("id").values())

    with pytest.raises(CommandError, match="has rows already"):
        call_command("demodata", runs=100, processes=0)

    assert list(Run.objects.order_by("id").values()) == rows


@pytest.mark.parametrize(
    "real",
    [
        lambda: factories.running(),
        lambda: Stop.objects.create(scope="all", actor="olga", reason="a leak"),
        lambda: User.objects.create(username="olga"),
    ],
    ids=["run", "stop order", "person"],
)
def test_real_data_is_refused(real: Any) -> None:
    real()

    with pytest.raises(load.InUse):
        invented.fill(100)

    assert not Decision.objects.exists()
    assert not User.objects.filter(username="marta").exists()


def test_whoever_uses_the_database_is_not_waited_for_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load, "_PATIENCE", "10ms")
    with admin() as other:
        other.execute("LOCK TABLE durable_run IN ACCESS SHARE MODE")
        with pytest.raises(load.InUse, match="stop its workers"):
            invented.fill(100)


def test_the_guards_are_whole_afterwards_and_after_a_kill(monkeypatch: pytest.MonkeyPatch) -> None:
    before = invented.guards()
    assert sum(row[0] == "trigger" for row in before) > 5

    monkeypatch.setattr(load, "_number_on", kill)
    with pytest.raises(Error):
        invented.fill(cast.SMALLEST)
    assert invented.guards() == before
    assert not Run.objects.exists()

    monkeypatch.undo()
    invented.fill(cast.SMALLEST)
    assert invented.guards() == before


def kill(cursor: Any) -> None:
    """End the server's process of the loading connection, as the last thing before it would commit."""
    with admin() as other:
        other.execute(
            "SELECT pg_terminate_backend(%s, 5000)", [connections["owner"].connection.info.backend_pid]
        )


def admin() -> psycopg.Connection:
    name = connections["default"].settings_dict["NAME"]
    return psycopg.connect(str(json.loads(os.environ[SHARED])["admin"]).format(name))


@pytest.mark.parametrize(("size", "number"), [("runs", 777), ("effects", 777), ("effects", 778)])
def test_the_size_is_the_one_that_was_asked_for(size: str, number: int) -> None:
    made = cast.plan(**{size: number}, seed=3)

    assert (len(made.kinds) if size == "runs" else made.effects) == number


@pytest.mark.parametrize(
    ("runs", "effects", "gates"),
    [(1_000, 5_000, 200), (300, 3_000, 3), (1_000, 300, 9), (2_000, 2_000, 0), (5_000, 7_777, 40)],
)
def test_runs_effects_and_gates_are_had_together(runs: int, effects: int, gates: int) -> None:
    made = cast.plan(runs=runs, effects=effects, gates=gates, seed=3)

    assert (len(made.kinds), made.effects) == (runs, effects)
    assert made.gates == gates or not gates


@pytest.mark.parametrize(
    "sizes", [{"runs": 100, "effects": 5_000}, {"runs": 100, "gates": 90}, {"runs": 100, "gates": 2}]
)
def test_numbers_that_can_not_be_had_together_are_refused(sizes: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=r"gates|effects"):
        cast.plan(**sizes, seed=1)


def test_as_many_gates_wait_as_were_asked_for() -> None:
    call_command("demodata", runs=90, effects=200, gates=12, processes=0, verbosity=0)

    assert (Run.objects.count(), Effect.objects.count()) == (90, 200)
    assert Gate.objects.filter(state__in=("open", "asked back")).count() == 12


def test_a_seed_makes_the_same_rows_again_but_for_keys_and_what_they_seal() -> None:
    first, again, other = (dict(tables(seed)) for seed in (1, 1, 2))

    assert first == again
    assert first["durable_ledgerevent"] != other["durable_ledgerevent"]


def tables(seed: int) -> Iterator[tuple[str, bytes]]:
    wanted = invented.order(100, seed=seed)
    world = World(wanted.until.replace(year=2026, month=1, day=1, tzinfo=None), {"marta": 1, "jonas": 2})
    (batch,) = cast.batches(wanted.plan, world.until.replace(hour=0, minute=0, second=0, microsecond=0), 1.0)
    for table, text in cast.tell(batch, world, seed).items():
        if table not in ("durable_sealed", "durable_sealkey", "durable_subjectname"):
            yield table, text


def test_the_vendors_account_of_its_last_days_is_clean_and_the_schedule_goes_on_with_real_ones(
    settings: Any, vendor: Vendor
) -> None:
    settings.INTERLOCK_AGENTS = ("durable.agents.refund_desk",)
    wanted = invented.order(400)
    load.fill(wanted, lambda line: None)
    until = wanted.until.astimezone(UTC)
    midnight = until.replace(hour=0, minute=0, second=0, microsecond=0)
    made = VendorStatement.objects.order_by("start")
    assert (made[0].start, made.last().end) == (midnight - 7 * DAY, until)
    assert all(before.end == after.start for before, after in itertools.pairwise(made))
    assert {one.differences for one in made} == {0} and not Unexplained.objects.exists()
    # In sum they say what the rows of the ledger do.
    rows = Effect.objects.filter(
        vendor="stripe", tool="refund", state="applied", undo_of=None, settled_at__lt=until
    )
    days = rows.filter(settled_at__gte=midnight - 7 * DAY)
    totals = StatementTotal.objects.values_list("kind", "ledger_number", "vendor_number")
    assert days.count() > 0 and sum(ours for _, ours, _ in totals) == days.count()
    assert all(kind == "in both" and ours == theirs for kind, ours, theirs in totals)
    # The next ones are held against the vendor's own book, which has one refund that nobody here asked for.
    assert requests.plan(until) == 0
    bypass = stated.past_us(vendor, clock.db_now())
    assert requests.plan(midnight + DAY + timedelta(hours=3)) == 1
    (first,) = StatementRequest.objects.filter(due_at__isnull=False)
    assert (first.start, first.end) == (until, midnight + DAY)
    assert stated.found(making.make(first.pk)) == [("at the vendor alone", bypass, None, 2500)]
