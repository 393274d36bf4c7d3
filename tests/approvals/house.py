"""A console with something on every page, and every address under which a page of it stands."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.test import Client
from django.urls import reverse

from approvals import bulk
from approvals.exports import orders
from approvals.models import BulkAct, Gate, RunView
from approvals.queries import behind
from durable import holds, journal, waits
from durable.clock import db_now
from durable.findings import AGREED, Finding
from durable.models import (
    Branch,
    Checkpoint,
    Effect,
    Erasure,
    ErasureRun,
    Message,
    RetentionPass,
    Run,
    Subject,
)
from durable.models.fields import Clock
from durable.retention import storage, terms
from durable.states import Attention, EraseReason, EventKind, RunState
from durable.transitions import lock_run
from durable.vendor_statements import explaining
from tests import factories
from tests.approvals import addresses, stated
from tests.approvals.answering import APPROVE, ASK_BACK, REJECT, answer, edited
from tests.approvals.matrix import POSTS
from tests.approvals.test_compensation_page import partly
from tests.approvals.test_verdicts import doubtful

PLAIN = "as agreed"


@dataclass(frozen=True)
class House:
    """What there is, by the name of the argument with which an address names it."""

    cast: Mapping[str, User]
    gates: list[Gate]
    runs: list[Run]
    effects: list[Effect]
    bulk: BulkAct
    erasure: Erasure
    statements: list[int]

    def signs_in(self, who: str) -> Client:
        """A browser in which one of the cast has signed in."""
        client = Client()
        client.force_login(self.cast[who])
        return client

    def pages(self) -> list[str]:
        """Every address of the URLconf that is no act, and not there for strangers; a new one is among them by itself.

        Raises KeyError for an argument of a kind that this house does not have.
        """
        values: dict[str, list[Any]] = {
            "gate_id": [gate.pk for gate in self.gates],
            "ref": [run.ref for run in self.runs],
            "key": [effect.key for effect in self.effects],
            "pk": [self.bulk.pk],
            "erasure": [self.erasure.pk],
            "number": self.statements,
            "name": list(behind.LISTS),
            "hold_id": [],
            "hash": list(Subject.objects.filter(effect__in=self.effects).values_list("hash", flat=True)),
        }
        no_page = {*POSTS, "sign-in", "sign-out"}
        return [address for name, address in addresses.every(values) if name not in no_page]


def full(say: Callable[[str], str] = lambda plain: plain, **secret: str) -> House:
    """Fill the console. `say` writes each text that comes from outside; `secret` are arguments of every pay-out."""
    cast = factories.cast()
    gates = [_asked(cast, say, **secret), edited(_gate(say, **secret), cast["bob"]), _irreversible(say)]
    gates.append(edited(_gate(say, asks="alice"), cast["bob"]))  # neither of the two who may decide is left
    gates += [_gate(say, amount=amount) for amount in ("120", "130")]
    Gate.objects.filter(pk=gates[-1].pk).update(decide_by=Clock() + timedelta(milliseconds=1))
    decided = [_gate(say, amount="140", **secret), _gate(say, amount="150", **secret)]
    answer(cast["alice"], decided[0], APPROVE, say("it fits"))
    answer(cast["alice"], decided[1], REJECT, say("wrong order"))
    doubt, (undone, paid) = doubtful(), partly()
    Run.objects.filter(pk=undone.pk).update(ended_at=Clock())
    Effect.objects.filter(pk=paid[0].pk).update(settled_at=Clock())
    ended, failed, halted = _ended(say), _failed(say), _stuck(say)
    _not_taken_up(say)
    RunView.objects.create(person=cast["olga"], name=say("mine")[:40], query="status:stuck")
    acted = bulk.draft(cast["olga"], "holds", query=None, refs=[gates[4].effect.run.ref, ended.ref])
    bulk.start(cast["olga"], acted.pk, say("night shift"))
    bulk.carry_on(acted.pk)
    orders.order(cast["rita"], "ledger", "tool:pay_out", "csv")
    _held(ended, say)
    every = [*gates, *decided]
    runs = [gates[0].effect.run, doubt.run, undone, ended, failed, halted]
    effects = [gates[0].effect, decided[0].effect, doubt, paid[0]]
    return House(
        cast, every, runs, effects, BulkAct.objects.get(pk=acted.pk), _erasure(ended, failed),
        _stated(say, effects[1]),
    )  # fmt: skip


def _erasure(*of: Run) -> Erasure:
    """What ada has asked for, and nobody has begun."""
    made = Erasure.objects.create(
        kinds=["order"], hashes=["0" * 64], reason=EraseReason.ASKED.value, actor="ada"
    )
    ErasureRun.objects.bulk_create(
        ErasureRun(erasure=made, run=run, why=f"{run.ref} is running") for run in of
    )
    return made


def _stated(say: Callable[[str], str], effect: Effect) -> list[int]:
    """A statement with every kind of difference, of which one is explained, and one that could not be made."""
    made = stated.made()
    for number, kind in enumerate(one for one in Finding if one not in AGREED):
        found = stated.differs(
            made, kind, number=number, say=say, effect=None if kind is Finding.VENDOR_ALONE else effect
        )
    explaining.explain(made.pk, [found.pk], actor="rita", reason=say("by hand"))
    failed = stated.request(2, asked_by=say("rita"), tries=2, trouble=say("no answer"), failing_since=Clock())
    return [made.pk, failed.pk]


def _held(run: Run, say: Callable[[str], str]) -> None:
    """Legal holds of every kind, and a day on which retention was asked for."""
    holds.set_on_run(run.ref, actor="ada", reason=say("a claim"))
    subject = Subject.objects.filter(run=run)[0]
    lifted = holds.set_on_subject(subject.kind, subject.hash, actor="ada", reason=say("a claim"))
    holds.lift(lifted.pk, actor="ada", reason=say("settled"))
    holds.set_on_search("order:8813", actor="ada", reason=say("a claim"))
    storage.record()
    RetentionPass.objects.get_or_create(
        day=db_now().date(), policy=terms.policy(), defaults={"runs": 1, "trouble": say("no room")}
    )


def _asked(cast: Mapping[str, User], say: Callable[[str], str], **secret: str) -> Gate:
    """A gate at which a reviewer has asked back."""
    gate = _gate(say, **secret)
    answer(cast["alice"], gate, ASK_BACK, say("which order?"))
    gate.refresh_from_db()
    return gate


def _gate(
    say: Callable[[str], str], amount: str = "184.50", asks: str = "customer desk", **more: Any
) -> Gate:
    """A gate over a pay-out of a run that somebody outside has named, with a small order of its own."""
    claim = factories.running(asks if asks == "alice" else say(asks), agent=say("desk"))
    Run.objects.filter(pk=claim.run_id).update(input={"order": say("8812")})
    effect = factories.propose(
        claim, order=say("8812"), amount=amount, currency="EUR", note=say(PLAIN), **more
    )
    factories.suspend(claim)
    return Gate.objects.select_related("effect__run", "wait").get(effect=effect)


def _irreversible(say: Callable[[str], str]) -> Gate:
    claim = factories.running(agent=say("desk"))
    letter = factories.propose(claim, factories.post_letter, to="ann@example.com", text=say("Dear Ann"))
    factories.suspend(claim)
    return Gate.objects.select_related("effect__run").get(effect=letter)


def _ended(say: Callable[[str], str]) -> Run:
    """A run that has done something, said something, kept checkpoints, and left a result."""
    claim = factories.running(say("shop"), agent=say("desk"))
    run = Run.objects.get(pk=claim.run_id)
    factories.propose(claim, order="8813", amount="20", currency="EUR")
    texts = [say("One cushion is stained."), {"tool": say("fetch_order"), "order": say("8813")}]
    for no, content in enumerate(texts, start=1):
        Message.objects.create(branch=branch_of(run), no=no, role=say("customer"), content=content)
    for version in (1, 2, 3):
        _reached(run, version, {"order": say("8813"), "seen": version})
    journal.record(run, EventKind.RESUMED, actor="w1:17")
    Run.objects.filter(pk=run.pk).update(
        state=RunState.COMPLETED.value, ended_at=Clock(), lease_until=None, version=3, message_count=len(texts),
        result={"note": say(PLAIN)}, input={"order": say("8813")},
    )  # fmt: skip
    return Run.objects.get(pk=run.pk)


def branch_of(run: Run) -> Branch:
    """The conversation that a run leads."""
    assert run.branch is not None
    return run.branch


def _reached(run: Run, version: int, state: dict[str, Any]) -> None:
    Checkpoint.objects.create(
        run=run, version=version, kind="step", step="look", visit=version, next_step="pay", next_visit=1, attempt=1,
        state=state, state_version=version, progress={"look": version}, branch=branch_of(run), message_count=version,
    )  # fmt: skip


def _failed(say: Callable[[str], str]) -> Run:
    """A run that has failed on words from outside."""
    claim = factories.running()
    Run.objects.filter(pk=claim.run_id).update(
        state=RunState.FAILED.value, ended_at=Clock(), lease_until=None, error=say("the parcel is lost")
    )
    return Run.objects.get(pk=claim.run_id)


def _not_taken_up(say: Callable[[str], str]) -> None:
    """A run that no worker has taken, and one that waits for nothing."""
    late, asleep = factories.running(agent=say("desk")), factories.running(agent=say("desk"))
    due = Clock() - timedelta(minutes=2)
    Run.objects.filter(pk=late.run_id).update(state=RunState.QUEUED.value, due_at=due, lease_until=None)
    Run.objects.filter(pk=asleep.run_id).update(
        state=RunState.SUSPENDED.value, due_at=None, lease_until=None, changed_at=Clock()
    )


def _stuck(say: Callable[[str], str]) -> Run:
    """A run before a person, with a reason in words from outside."""
    claim = factories.running()
    with transaction.atomic():
        waits.open_attention(lock_run(claim.run_ref), Attention.RETRIES, say("It failed three times."))
    return factories.suspend(claim)


def lists_beyond() -> list[str]:
    """Addresses of lists by a search, a filter and a cursor: what stands in the query, no URLconf knows."""
    later = f"1_{db_now().isoformat()}_1"
    found = {
        "runs": ("q=8812", "q=status:stuck", "after=999999", "before=1"),
        "ledger": (
            "q=8812",
            "q=8812&state=gated",
            "after=999999",
            "q=tool:pay+decided-by:Alice+state:gated+from:2025",
            "q=order:*881*+decided-by:Alice+amount:1..+from:2025+to:today",
            "q=nobody",
            "q=order:*&state=x",
        ),
        "ledger-suggestions": ("q=tool:", "q=pa"),
        "refunds": ("tool=pay_out&period=all",),
        "gates": (f"after={later}",),
        "compensation": ("state=partly+compensated",),
        "home": ("period=7d",),
        "run-suggestions": ("q=agent:",),
    }
    moved = f"{reverse('behind', args=['moved'])}?currency=EUR"
    return [moved, *(f"{reverse(name)}?{query}" for name, queries in found.items() for query in queries)]
