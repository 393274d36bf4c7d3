"""Claims: one worker at a time, on the database's clock; whoever was paused too long writes nothing."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from threading import Event
from typing import Any

import pytest
from django.db import connection, transaction

from durable import checkpoints, claims, faults, frozen, journal, runs, suspending
from durable.errors import LeaseLost
from durable.ledger import Ask, Place, record
from durable.models import Attempt, Checkpoint, Effect, Frozen, LedgerEvent, Run, Wait
from durable.states import Attention, EffectState, RunState
from durable.transitions import Claim, lock_run, still_held
from tests.engine import agents, desk
from tests.engine.resting import nap
from tests.together import PATIENCE, at_once, somebody_waits

pytestmark = pytest.mark.django_db(transaction=True)


def held(run: Run) -> Claim:
    claim = claims.claim(run.ref)
    assert claim is not None
    return claim


def stolen(run: Run) -> tuple[Claim, Claim]:
    """A worker that slept through its lease, and the one that took over."""
    old = held(run)
    desk.time_passes(minutes=5)
    return old, held(run)


def row(run: Run) -> dict[str, Any]:
    return dict(Run.objects.values().get(pk=run.pk))


@pytest.mark.parametrize("lost", [False, True], ids=["queued", "lease run out"])
def test_of_two_workers_that_come_at_once_one_gets_the_run(lost: bool) -> None:
    for _ in range(10):
        run = agents.start("Looper")
        if lost:
            held(run)
            desk.time_passes(minutes=5)
        got = at_once(*[partial(claims.claim, run.ref)] * 2)
        winners = [claim for claim in got if claim is not None]
        assert len(winners) == 1
        run.refresh_from_db()
        assert (run.attempt, run.nonce) == (winners[0].attempt, winners[0].nonce)


def claimed_beside(run: Run, *, lets_go: bool) -> Claim | None:
    """What a claim gets while another session holds the run's row, until that is waited for or the claim is over."""
    holds, over = Event(), Event()

    def hold() -> None:
        with transaction.atomic():
            lock_run(run.ref)
            holds.set()
            desk.until(somebody_waits if lets_go else over.is_set)

    def come() -> Claim | None:
        assert holds.wait(PATIENCE)
        try:
            return claims.claim(run.ref)
        finally:
            over.set()

    _, claim = at_once(hold, come)
    return claim


def test_a_claim_waits_for_an_answer_that_holds_the_run_at_the_moment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(claims, "PATIENCE", timedelta(seconds=PATIENCE))
    assert claimed_beside(agents.start("Looper"), lets_go=True) is not None


def test_a_claim_leaves_a_run_to_the_sweeper_that_somebody_does_not_let_go_of(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(claims, "PATIENCE", timedelta(milliseconds=50))
    run = agents.start("Looper")
    assert claimed_beside(run, lets_go=False) is None
    monkeypatch.undo()
    assert claims.claim(run.ref) is not None


def test_the_server_ends_a_transaction_that_rests_longer_than_a_lease(settings: Any) -> None:
    """A worker stopped inside a transaction holds the run's row: nobody could take over from it."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_setting('idle_in_transaction_session_timeout')::interval")
        assert cursor.fetchone() == (settings.LEASE_SECONDS,)


def ended_by_the_server() -> None:
    """This session rests inside its transaction until the server has had enough of it."""
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL idle_in_transaction_session_timeout = '20ms'")
        cursor.execute("SELECT pg_backend_pid()")
        (pid,) = cursor.fetchone()

    def look() -> None:
        end = time.monotonic() + 10
        with connection.cursor() as other:
            while time.monotonic() < end:
                other.execute("SELECT 1 FROM pg_stat_activity WHERE pid = %s", [pid])
                if other.fetchone() is None:
                    return
        raise AssertionError("the server has not ended it")

    desk.meanwhile(look)


@pytest.mark.parametrize("point", ["suspend.before_commit", "end.before_commit"])
def test_a_worker_whose_transaction_the_server_has_ended_gives_up_and_another_goes_on(point: str) -> None:
    run = agents.run_of(nap)
    if point.startswith("end"):
        runs.cancel(run.ref, actor="tests", reason="to see it")
    faults.arm(point, ended_by_the_server)
    before = desk.drive(run).state
    assert not Wait.objects.filter(run=run).exists()
    desk.time_passes(minutes=5)
    after = desk.drive(run).state
    assert (before, after) in (("running", "suspended"), ("cancelling", "cancelled"))


def test_a_held_run_is_nobody_elses_until_its_lease_is_over() -> None:
    run = agents.start("Looper")
    first = held(run)
    assert claims.claim(run.ref) is None
    assert still_held(first) and not first.lost
    desk.time_passes(minutes=5)
    second = held(run)
    assert second.attempt == first.attempt + 1
    assert second.nonce != first.nonce


@pytest.mark.parametrize("taken", [True, False], ids=["another worker has it", "nobody has it yet"])
def test_a_stale_worker_writes_nothing(taken: bool) -> None:
    run = agents.start("Looper")
    if taken:
        old, _ = stolen(run)
    else:
        old = held(run)
        desk.time_passes(minutes=5)
    snap = checkpoints.load(run)
    checkpoints.advance(snap, "turn", {"turns": 99}, [checkpoints.Said("agent", "from the grave")])
    ask = Ask.of(agents.pay, {"order": "1", "amount": "40", "currency": "EUR"}, Place("turn", 1, 1))
    before = row(run)
    writes: list[Callable[[], Any]] = [
        lambda: checkpoints.save(old, snap, sync=True),
        lambda: frozen.keep(old, Place("turn", 1, 1), "read_price", "0" * 64, 1, None),
        lambda: frozen.reserve_model(old, Place("turn", 1, 1), "think", "0" * 64, 10),
        lambda: record(old, run, ask),
        lambda: suspending.stuck(old, Attention.RETRIES, "from the grave"),
    ]
    for write in writes:
        with pytest.raises(LeaseLost):
            write()
    assert not still_held(old)
    assert old.lost
    assert row(run) == before
    assert [Checkpoint.objects.count(), Frozen.objects.count(), Effect.objects.count()] == [1, 0, 0]
    assert Wait.objects.count() == 0


def test_an_answer_that_comes_after_the_lease_is_kept_and_changes_no_state() -> None:
    run = agents.start("Walker")
    agents.meanwhile.append(lambda call: takeover(run))
    desk.drive(run)
    effect = Effect.objects.get(run=run)
    assert effect.state == EffectState.PENDING
    late = LedgerEvent.objects.get(run_ref=run.ref, kind="late answer")
    assert f"re_{effect.key}" in late.body
    assert (run.attempt, run.state) == (2, RunState.RUNNING)
    desk.time_passes(minutes=5)
    desk.drive(run)
    assert run.state == RunState.COMPLETED
    assert [key for key, _ in agents.asked if key.startswith("run-")] == [effect.key]
    assert len(agents.moved) == 1


def takeover(run: Run) -> None:
    """Another worker takes the run while the first one is at the vendor's."""

    def take() -> None:
        desk.time_passes(minutes=5)
        held(run)

    desk.meanwhile(take)


def test_the_heartbeat_keeps_the_lease_from_a_connection_of_its_own(settings: Any) -> None:
    settings.LEASE_SECONDS = timedelta(
        seconds=3
    )  # long enough that a busy machine does not lose it meanwhile
    run = agents.start("Looper")
    claim = held(run)
    with transaction.atomic(), claims.beating(claim):
        first = row(run)["lease_until"]
        desk.until(lambda: row(run)["lease_until"] > first + timedelta(seconds=0.5))
    assert claims.claim(run.ref) is None


def test_the_heartbeat_tells_its_worker_that_the_lease_is_lost(settings: Any) -> None:
    run = agents.start("Looper")
    settings.LEASE_SECONDS = timedelta(seconds=0.3)
    claim = held(run)
    with claims.beating(claim) as heart:
        Run.objects.filter(pk=run.pk).update(nonce="another")
        desk.until(lambda: not heart.is_alive())
    assert claim.lost


def test_a_run_that_kills_its_workers_is_put_before_a_person() -> None:
    run = agents.start("Looper")
    for _ in range(4):
        held(run)
        desk.time_passes(minutes=5)
    desk.drive(run)
    wait = Wait.objects.get(run=run)
    assert (run.state, wait.name) == (RunState.SUSPENDED, Attention.CRASH_LOOP)
    assert "4 workers" in wait.detail["sentence"]
    assert list(Attempt.objects.filter(run=run).order_by("number").values_list("number", "how")) == [
        (1, "lost"),
        (2, "lost"),
        (3, "lost"),
        (4, "lost"),
        (5, "suspended"),
    ]
    assert not Attempt.objects.filter(run=run, ended_at=None).exists()
    kinds = [event.kind for event in journal.events(run.ref)]
    assert (kinds.count("attempt lost"), kinds.count("resumed")) == (4, 4)


def test_a_step_that_gets_done_forgives_the_crashes_before_it() -> None:
    run = agents.start("Looper", {"turns": 30})
    for turn in range(1, 6):
        claim = held(run)
        snap = checkpoints.load(run)
        checkpoints.advance(snap, "turn", {"turns": turn}, [])
        checkpoints.save(claim, snap, sync=False)
        desk.time_passes(minutes=5)
        run.refresh_from_db()
    desk.drive(run)
    assert run.state == RunState.COMPLETED
