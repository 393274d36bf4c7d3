"""The policy of retention: who changed what, what the database refuses, what goes by it, and what never does."""

from __future__ import annotations

import json
from datetime import timedelta

import psycopg
import pytest
from django.db import IntegrityError, connection, transaction

from durable import holds, retention, steering, vault
from durable.errors import Conflict, Invalid
from durable.models import (
    Checkpoint,
    Effect,
    Frozen,
    LedgerEvent,
    Message,
    RetentionPolicy,
    Run,
    Sealed,
    SealKey,
)
from durable.models.fields import Clock
from durable.retention import kinds, pruning, survey, terms
from durable.retention.terms import Terms
from durable.states import RunState
from tests import factories
from tests.engine import agents, desk
from tests.engine.rooted import url

pytestmark = pytest.mark.django_db(transaction=True)


def set_to(**days: int | None) -> RetentionPolicy:
    return terms.change(Terms(**days), actor="ada", reason="less to lose", seen=terms.policy().pk)


def test_a_change_is_an_act_with_what_was_and_what_is_and_the_reason() -> None:
    made = set_to(checkpoints=30, messages=90)
    (act,) = LedgerEvent.objects.filter(run_ref="retention")
    body = json.loads(act.body)
    assert (act.kind, act.actor, body["policy"]) == ("retention changed", "ada", made.pk)
    assert body["before"] == {"checkpoints": 7, "messages": "for ever"}
    assert body["after"] == {"checkpoints": 30, "messages": 90}
    assert vault.act_words(act) == "less to lose"


def test_of_two_who_change_it_the_second_is_told() -> None:
    seen = terms.policy().pk
    set_to(checkpoints=30)
    with pytest.raises(Conflict, match="ada has changed the policy"):
        terms.change(Terms(checkpoints=40), actor="eve", reason="me too", seen=seen)


@pytest.mark.parametrize(
    ("days", "field"),
    [
        ({"checkpoints": 0}, "checkpoints"),
        ({"messages": 40_000}, "messages"),
        ({"ledger": 365, "messages": 30, "payloads": 30}, "ledger"),
        ({"ledger": 400, "messages": 400, "payloads": 30}, "messages"),
        ({"ledger": 400, "messages": 30}, "payloads"),
    ],
)
def test_the_database_itself_refuses_a_policy_in_which_the_ledger_does_not_outlive_the_rest(
    days: dict[str, int], field: str
) -> None:
    with pytest.raises(Invalid) as refused:
        set_to(**days)
    assert refused.value.field == field
    with pytest.raises(IntegrityError), transaction.atomic():
        RetentionPolicy.objects.create(actor="a hand", **({"checkpoints": 7, "frozen": 7} | days))
    assert RetentionPolicy.objects.count() == 1


@pytest.mark.parametrize("who", ["application", "owner", "superuser"])
@pytest.mark.parametrize("change", ["UPDATE durable_retentionpolicy SET ledger = NULL",
                                    "DELETE FROM durable_retentionpolicy"])  # fmt: skip
def test_nobody_changes_what_was_in_force(who: str, change: str) -> None:
    with psycopg.connect(url(who)) as opened, pytest.raises(psycopg.errors.InsufficientPrivilege):
        opened.execute(change.encode())


def test_each_kind_goes_in_its_own_time() -> None:
    set_to(checkpoints=100, frozen=10, messages=50, payloads=200)
    run = desk.drive(agents.start("Walker"))
    had = Checkpoint.objects.count(), Message.objects.count()
    gone = []
    for days in (11, 40, 50, 100):
        desk.time_passes(days=days)
        went = retention.prune()
        gone.append(
            [name for name in ("checkpoints", "frozen", "messages", "payloads") if getattr(went, name)]
        )
    assert gone == [["frozen"], ["messages"] if had[1] else [], ["checkpoints"], ["payloads"]]
    with pytest.raises(vault.Erased):
        vault.open_key(run.pk, run.ref)
    assert {bytes(one.box) for one in Sealed.objects.filter(pk__in=boxes(run))} == {b""}
    assert LedgerEvent.objects.filter(run_ref=run.ref).exclude(kind="pruned").exists()


def boxes(run: Run) -> list[int]:
    return list(run.effects.values_list("payload_id", flat=True))


def test_what_is_held_stays_and_goes_once_the_hold_is_lifted() -> None:
    run, other = (desk.drive(agents.start("Looper", {"turns": 3})) for _ in range(2))
    hold = holds.set_on_run(run.ref, actor="rita", reason="a claim")
    desk.time_passes(days=30)
    assert retention.prune().runs == 1
    assert (
        Checkpoint.objects.filter(run=run).count() == 4 and Checkpoint.objects.filter(run=other).count() == 1
    )
    assert retention.prune() == retention.Pruned()
    holds.lift(hold.pk, actor="rita", reason="settled")
    assert retention.prune().checkpoints == 3


def test_nothing_goes_while_what_a_hold_holds_can_not_be_told() -> None:
    desk.drive(agents.start("Looper", {"turns": 3}))
    hold = holds.set_on_search("order:8812", actor="rita", reason="a claim")
    hold.box = holds._box(hold.pk, holds.Words("a claim", "amount:lots"))
    hold.save()
    desk.time_passes(days=30)
    assert retention.prune() == retention.Pruned()
    assert Checkpoint.objects.count() == 4


def test_an_ended_run_with_an_effect_of_unknown_fate_keeps_everything() -> None:
    claim = factories.running()
    effect = factories.propose(claim, order="8812", amount="20", currency="EUR")
    run = Run.objects.get(pk=claim.run_id)
    Frozen.objects.create(run=run, step="look", visit=1, ordinal=1, tool="t", args_digest="0" * 64)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE durable_effect SET state = 'in doubt' WHERE id = %s", [effect.pk])
    Run.objects.filter(pk=run.pk).update(state=RunState.COMPLETED.value, ended_at="2020-01-01T00:00Z")
    assert retention.prune() == retention.Pruned()
    (line, *_) = [one for one in survey.look(Terms()).lines if one.kind == "frozen"]
    assert (line.rows, line.unknown) == (0, 1)


@pytest.mark.parametrize("why", ["in doubt", "held", "under way"])
def test_what_must_stay_by_the_time_of_its_bite_stays_though_it_was_due_before(why: str) -> None:
    run = desk.drive(agents.start("Walker"))
    desk.time_passes(days=30)
    assert retention.prunable().get().pk == run.pk
    if why == "held":
        holds.set_on_run(run.ref, actor="rita", reason="a claim")
    elif why == "in doubt":
        Effect.objects.filter(run=run).update(state="in doubt")
    else:
        Run.objects.filter(pk=run.pk).update(state=RunState.QUEUED.value)
    assert pruning._bite(run.ref, "tests", "because", None) == retention.Pruned()
    assert Checkpoint.objects.filter(run=run).count() == run.version


def test_a_dry_run_says_what_then_goes_and_what_is_held() -> None:
    runs = [desk.drive(agents.start("Walker")) for _ in range(3)]
    desk.drive(agents.start("Looper", {"turns": 30}))
    hold = holds.set_on_run(runs[0].ref, actor="rita", reason="a claim")
    desk.time_passes(days=30)
    by = Terms(checkpoints=10, frozen=10, messages=10, payloads=10)
    would = survey.look(by)
    before = Checkpoint.objects.count(), Frozen.objects.count(), Message.objects.count()
    assert would.exact and dict(would.holds) == {hold.pk: 1}
    terms.change(by, actor="ada", reason="because", seen=terms.policy().pk)
    went = retention.prune()
    told = would.plain()
    assert [told["checkpoints"], told["frozen"], told["messages"]] == [
        went.checkpoints,
        went.frozen,
        went.messages,
    ]
    held = {line.kind: line.held for line in would.lines}
    assert held["checkpoints"] == 2 and held["frozen"] == 2
    after = Checkpoint.objects.count(), Frozen.objects.count(), Message.objects.count()
    assert [a - b for a, b in zip(before, after, strict=True)] == [
        went.checkpoints,
        went.frozen,
        went.messages,
    ]


def test_a_policy_that_keeps_longer_holds_from_the_next_bite_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever has saved it has been told that it is in force."""
    runs = [desk.drive(agents.start("Looper", {"turns": 3})) for _ in range(3)]
    desk.time_passes(days=30)
    rest = pruning._rest

    def changed_meanwhile(begun: float) -> None:
        if RetentionPolicy.objects.count() == 1:
            set_to(checkpoints=100, frozen=100)
        rest(begun)

    monkeypatch.setattr(pruning, "_rest", changed_meanwhile)
    assert retention.prune().runs == 1
    assert sorted(run.checkpoints.count() for run in runs) == [1, 4, 4]


def test_no_policy_is_saved_while_a_bite_goes_by_the_one_before() -> None:
    with transaction.atomic():
        assert terms.standing().checkpoints == 7
        with psycopg.connect(url("application")) as other, pytest.raises(psycopg.errors.LockNotAvailable):
            other.execute("SET lock_timeout = '200ms'")
            other.execute("SELECT pg_advisory_xact_lock(%s)", [terms._LOCK])


def test_a_parents_receipts_stay_for_as_long_as_its_fork_may_be_answered_by_them() -> None:
    set_to(checkpoints=10, frozen=10, payloads=20)
    parent = desk.drive(agents.start("Walker"))
    fork = steering.fork(parent.ref, 2, actor="olga", reason="again")
    Run.objects.filter(pk=parent.pk).update(ended_at=Clock() - timedelta(days=30))
    assert survey.look(Terms(payloads=20)).plain()["payloads"] == 0
    assert retention.prune().payloads == 0
    fork = desk.drive(fork)
    assert fork.result["receipt"] == parent.result["receipt"] and len(agents.moved) == 1
    desk.time_passes(days=30)
    assert [retention.prune().payloads > 0, retention.prune().payloads > 0] == [True, True]
    assert not SealKey.objects.filter(wrapped__isnull=False).exists()


def test_a_run_of_many_rows_goes_in_bites_of_which_each_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("durable.retention.pruning.BITE", 4)
    run = desk.drive(agents.start("Looper", {"turns": 10}))
    desk.time_passes(days=30)
    went = retention.prune()
    assert (went.runs, went.checkpoints) == (1, 10)
    told = [
        json.loads(one.body)["checkpoints"]
        for one in LedgerEvent.objects.filter(kind="pruned").order_by("no")
    ]
    assert told == [4, 4, 2] and run.checkpoints.count() == 1


def test_what_has_lost_its_conversation_is_not_forked_any_more() -> None:
    set_to(messages=10)
    run = desk.drive(agents.start("Walker"))
    assert run.message_count and run.branch is not None
    assert steering.fork(run.ref, run.version - 1, actor="olga", reason="again").parent == run
    Run.objects.exclude(pk=run.pk).update(parent=None)
    run.branch.branches.all().update(parent=None)
    desk.time_passes(days=30)
    assert retention.prune().messages
    with pytest.raises(Conflict, match="has gone by the policy"):
        steering.fork(run.ref, run.version, actor="olga", reason="again")


def test_what_a_fork_goes_on_from_keeps_its_conversation() -> None:
    assert kinds.of_run("messages") is not None
    set_to(messages=10)
    with_fork, alone = (desk.drive(agents.start("Walker")) for _ in range(2))
    for run in (with_fork, alone):
        assert run.branch is not None
        Message.objects.get_or_create(branch=run.branch, no=1, defaults={"role": "user", "content": "hello"})
    assert with_fork.branch is not None
    with_fork.branch.branches.create(base_count=1)
    desk.time_passes(days=30)
    retention.prune()
    assert Message.objects.filter(branch=with_fork.branch).exists()
    assert not Message.objects.filter(branch=alone.branch).exists()
