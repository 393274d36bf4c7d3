"""Each act says beforehand what it will do to this very run, from what its ledger holds."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from approvals import radius
from approvals.acts import ACTS, scene
from approvals.queries import run as one_run
from approvals.queries.tally import LISTED
from durable.models import Effect, Frozen, Run
from durable.states import RunState
from durable.tools import tool
from durable.vendor import Call, Receipt
from tests import factories
from tests.approvals.test_commands import stuck

pytestmark = pytest.mark.django_db


@tool(vendor="test shelf", subject="order")
def put_by(call: Call, order: str) -> Receipt:
    raise NotImplementedError


@put_by.undo(idempotent_for=timedelta(days=1))
def put_back(call: Call) -> Receipt:
    raise NotImplementedError


def run_with(*effects: tuple[Any, str, dict[str, Any]], state: str = "suspended", step: str = "pay") -> Run:
    """A run at `step` with effects of `pay` in given states; amounts and places as a step would have asked."""
    claim = factories.running()
    for n, (wanted, into, args) in enumerate(effects, start=1):
        effect = factories.propose(claim, wanted, ordinal=n, **args)
        sent = into in ("applied", "pending", "in doubt", "failed")
        Effect.objects.filter(pk=effect.pk).update(
            state=into,
            applied_no=n if into == "applied" else None,
            sends=int(sent),
            open_sends=int(into in ("pending", "in doubt")),
            first_sent_at=effect.recorded_at if sent else None,
        )
    Run.objects.filter(pk=claim.run_id).update(state=state, step=step, lease_until=None)
    return Run.objects.select_related("budget", "parent").get(pk=claim.run_id)


def told(run: Run, noun: str) -> list[str]:
    return radius.of(noun, scene(one_run.read(run)))


def pays(amount: str, currency: str = "EUR") -> dict[str, Any]:
    return {"order": "8812", "amount": amount, "currency": currency}


LOOKED_UP = (
    "Looked up first: Pay out 25.00 EUR (pay); found, it is adopted; "
    "else repeated under the same key while that is safe."
)
MIXED = (
    (factories.pay_out, "applied", pays("10")),
    (factories.pay_out, "in doubt", pays("25")),
    (factories.pay_out, "gated", pays("184.50")),
    (put_by, "applied", {"order": "8812"}),
    (factories.post_letter, "approved", {"to": "ada@example.org", "text": "Dear Ada"}),
)


def test_a_cancellation_tells_what_is_withdrawn_looked_up_and_stays() -> None:
    assert told(run_with(*MIXED), "cancellations") == [
        "No new effect starts, and it never goes on.",
        "Withdrawn, never arrived: 2 effects (184.50 EUR).",
        "Pay out 184.50 EUR (pay)",
        "Post letter (pay)",
        "Looked up first; it ends only once this is known: Pay out 25.00 EUR (pay).",
        "What it did stays done: 2 effects (10.00 EUR).",
        "With the box ticked, then, in this order:",
        "1. Undone: Put by (pay), by put_back.",
        "2. Can't be undone: Pay out 10.00 EUR (pay).",
    ]


def test_a_compensation_lists_the_way_back_in_reverse_with_what_can_not_be_undone() -> None:
    assert told(run_with(*MIXED, state="completed"), "compensations") == [
        "1. Undone: Put by (pay), by put_back.",
        "2. Can't be undone: Pay out 10.00 EUR (pay).",
    ]


def test_what_is_undone_already_is_not_undone_again() -> None:
    run = run_with((put_by, "applied", {"order": "8812"}), state="completed")
    undone = Effect.objects.get(run=run)
    copy = Effect.objects.get(run=run)
    copy.pk, copy.key, copy.undo_of = None, f"{undone.key}:undo", undone
    copy.save(force_insert=True)
    assert told(run, "compensations") == [
        "Nothing was applied that is not undone already. It ends as compensated."
    ]


def test_a_retry_tells_what_the_record_answers_and_what_is_asked() -> None:
    lines = told(run_with(*MIXED), "retries")
    assert lines[0] == "Step pay is executed again from its start, under the same keys."
    assert lines[1:] == [
        "Answered from the record, not repeated: Pay out 10.00 EUR (pay).",
        "Answered from the record, not repeated: Put by (pay).",
        LOOKED_UP,
        "Sent, as approved: Post letter (pay).",
        "Still asks people: Pay out 184.50 EUR (pay).",
        "Money that may leave by what is open: 209.50 EUR; it is reserved already.",
    ]


def test_a_retry_of_another_step_leaves_what_was_done_alone() -> None:
    assert told(run_with(MIXED[0], step="tell"), "retries")[1:] == [
        "Nothing of this step is on record yet: what it asks for is new, and gated where rules say so.",
        "Not touched: 1 effect of other steps (10.00 EUR).",
    ]


def test_a_release_tells_what_leaves_at_once() -> None:
    assert told(run_with(*MIXED), "releases") == [
        "Sent next, approved: Post letter (pay).",
        LOOKED_UP,
        "Still waits for people: Pay out 184.50 EUR (pay).",
        "Money that may leave by what is open: 209.50 EUR; it is reserved already.",
    ]


def test_a_fork_tells_what_it_inherits() -> None:
    lines = told(run_with(MIXED[0], state="completed"), "forks")
    assert "Not repeated: Pay out 10.00 EUR (pay)." in lines
    assert lines[-1] == "It draws on what is left of this run's budget; nothing is reset."


def test_amounts_of_two_currencies_are_never_added() -> None:
    claim = factories.running(limits={"EUR": 100_000, "JPY": 100_000})
    for n, (amount, currency) in enumerate((("10", "EUR"), ("900", "JPY"), ("5", "EUR")), start=1):
        factories.propose(claim, ordinal=n, **pays(amount, currency))
    Effect.objects.filter(run_id=claim.run_id).update(state="gated", sends=0, open_sends=0)
    run = Run.objects.select_related("budget", "parent").get(pk=claim.run_id)
    assert "Withdrawn, never arrived: 3 effects (15.00 EUR, 900 JPY)." in told(run, "cancellations")


def test_very_many_of_a_kind_are_counted_and_not_listed() -> None:
    run = run_with(*[(factories.pay_out, "approved", pays("1"))] * 9)
    lines = told(run, "releases")
    assert lines[-2:] == [
        "And 3 more of the kind (9.00 EUR in all).",
        "Money that may leave by what is open: 9.00 EUR; it is reserved already.",
    ]
    assert len(lines) == LISTED + 2


def test_every_applied_effect_is_counted_for_the_way_back_however_many_there_are() -> None:
    run = run_with((put_by, "applied", {"order": "8812"}), MIXED[0], state="completed")
    last = Effect.objects.get(run=run, tool="pay_out")
    Effect.objects.bulk_create(more(last, 2 + n) for n in range(1, 301))
    lines = told(run, "compensations")
    assert lines[0] == "1. Can't be undone: Pay out 10.00 EUR (pay)."
    assert lines[LISTED:] == [
        "And 296 more, further back. Of all 302:",
        "301 of pay_out can't be undone.",
        "1 of put_by undone by put_back.",
    ]
    assert (
        one_run.detail(one_run.read(run))["effects_words"] == "302 effects, 302 applied, 3,010.00 EUR spent"
    )
    assert "What it did stays done: 302 effects (3,010.00 EUR)." in told(run, "cancellations")


def more(like: Effect, place: int) -> Effect:
    """Another effect like one that is there, at a place of its own."""
    values = {column.attname: getattr(like, column.attname) for column in Effect._meta.concrete_fields}
    key = f"{like.key}#{place}"
    return Effect(
        **values | {"id": None, "key": key, "ordinal": place, "applied_no": place, "receipt_id": ""}
    )


def test_a_retry_says_which_tokens_are_spent_again_and_which_are_not() -> None:
    run = run_with(MIXED[0])
    for ordinal, answered, reserved, tokens in ((7, True, 0, 1_240), (8, False, 4_000, 0)):
        Frozen.objects.create(
            run=run, step="pay", visit=1, ordinal=ordinal, tool="model", args_digest="0" * 64,
            answered=answered, reserved=reserved, tokens=tokens,
        )  # fmt: skip
    assert told(run, "retries")[-2:] == [
        "Answered from the record: 1 model call or read: 1,240 tokens are not spent again.",
        "Made again: 1 model call that was cut off; up to 4,000 tokens are spent again.",
    ]


@pytest.mark.parametrize("noun", [act.noun for act in ACTS])
def test_every_act_says_something_and_asks_the_database_nothing(noun: str) -> None:
    run = run_with(*MIXED)
    read = one_run.read(run)
    with CaptureQueriesContext(connection) as queries:
        lines = radius.of(noun, scene(read))
    assert lines and all(lines) and len(queries) == 0
    assert RunState(run.state)


def test_what_was_never_sent_leaves_with_the_release_and_nobody_is_told_that_it_is_looked_up() -> None:
    run = run_with((factories.pay_out, "pending", pays("25")), (factories.pay_out, "pending", pays("30")))
    unsent = Effect.objects.filter(run=run, amount_minor=2500)
    unsent.update(sends=0, open_sends=0, first_sent_at=None)
    Effect.objects.filter(run=run, amount_minor=3000).update(open_sends=0)
    for noun in ("releases", "retries"):
        lines = told(run, noun)
        assert "Sent next, nobody is asked: Pay out 25.00 EUR (pay)." in lines
        assert (
            "Sent again, nobody is asked: Pay out 30.00 EUR (pay); its last request certainly did nothing."
            in lines
        )
        assert not any(line.startswith("Looked up") for line in lines)
    assert "Withdrawn, never arrived: 2 effects (55.00 EUR)." in told(run, "cancellations")
    assert "Withdrawn, never arrived: Pay out 25.00 EUR (pay)." in told(run, "skips")


def test_a_skip_tells_what_people_are_asked_about_where_it_goes_back() -> None:
    lines = told(run_with(*MIXED, step="tell"), "skips")
    assert lines[-3:] == [
        "Back at a step that was visited before, it is done again with what follows, under new keys.",
        "Done again there only if people say so: Pay out 10.00 EUR (pay).",
        "Done again there only if people say so: Put by (pay).",
    ]
    assert not any("again" in line for line in told(run_with(MIXED[2], step="tell"), "skips"))


def test_a_release_of_a_run_that_is_stuck_says_that_it_stays_so() -> None:
    run = stuck()
    (line, *_) = told(Run.objects.select_related("budget", "parent").get(pk=run.pk), "releases")
    assert line.startswith("It stays stuck: ") and line.endswith(" A retry gets it going.")


def test_a_retry_on_the_way_back_speaks_of_undos_and_of_no_step() -> None:
    run = run_with((put_by, "applied", {"order": "8812"}), state="compensating")
    lines = told(run, "retries")
    assert lines[0] == "It goes on to its end: compensating. No step is executed again."
    assert any("put by" in line.lower() for line in lines[1:])
