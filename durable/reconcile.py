"""A pending effect after a crash or a lost answer: ask the vendor, and say what follows. Nobody guesses.

`judge` is the rule, without any I/O: what a look-up said, what the tool declares and how much time has passed decide.

    found, and it matches                               adopt the receipt; do not act
    not found or can't say, key honoured and young      send again under the same key, if no error is saved under it
    too early for a miss to mean anything               look again later
    anything else                                       a person, with the evidence

A miss is no proof of absence: a request may still be in flight and a look-up may lag, so a miss counts only after
quiescence (send-by, then `in_flight`, then `lookup_lag`). A key counts as honoured for half of its declared life.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any

from durable import clock, draining, faults, vault
from durable.beats import asking
from durable.digest import plain
from durable.errors import CannotSay, InDoubt, Invalid
from durable.ledger import Ask, outcome
from durable.models import Effect, EventDetail
from durable.money import to_minor
from durable.states import Attention, EventKind
from durable.text import quoted
from durable.tools import Facts
from durable.transitions import Claim
from durable.vendor import Absent, Call, Candidates, LookupAnswer, Receipt

#: How long a vendor that can't say is asked again before a person is bothered.
PATIENCE = timedelta(hours=4)
#: The key counts as honoured for this share of its declared life.
SAFE_SHARE = 0.5
_FIRST_PAUSE = 0.5
_LONGEST_PAUSE = 300.0
_LONGEST_ID = 255
#: Seconds that a look-up may take.
LOOKUP_TIMEOUT = 10.0


@dataclass(frozen=True, slots=True)
class Adopt:
    """Take this receipt over."""

    receipt: Receipt


@dataclass(frozen=True, slots=True)
class SendAgain:
    """The vendor honours the key: the same request under it is harmless, `pause` from now."""

    pause: timedelta


#: What is told of the words of a vendor that could not say.
LONGEST_ANSWER = 200


@dataclass(frozen=True, slots=True)
class LookAgain:
    """It is too early to tell; ask again after `pause`."""

    pause: timedelta


@dataclass(frozen=True, slots=True)
class Doubt:
    """Software can't tell. A person must look, with this evidence."""

    sentence: str
    evidence: dict[str, Any]


Verdict = Adopt | SendAgain | LookAgain | Doubt


def quiet_from(effect: Effect, facts: Facts) -> datetime:
    """Return the moment (database's clock) from which a miss means absence: nothing of ours can still be on its way."""
    return (effect.send_by or effect.recorded_at) + facts.in_flight + facts.lookup_lag


def key_is_good(effect: Effect, facts: Facts, now: datetime) -> bool:
    """Whether the same key may be sent again: the vendor honours it, it is young, and no error is saved under it."""
    if facts.idempotent_for is None or effect.error_saved or effect.first_sent_at is None:
        return False
    return now < effect.first_sent_at + facts.idempotent_for * SAFE_SHARE


def checked(receipt: object) -> Receipt:
    """Return what an adapter gave, if it is a receipt that can be recorded. Raises InDoubt."""
    if not isinstance(receipt, Receipt):
        raise InDoubt(f"the adapter returned {type(receipt).__name__}, no receipt")
    name: object = receipt.id
    if not isinstance(name, str) or not 0 < len(name) <= _LONGEST_ID:
        raise InDoubt("the receipt bears no usable id")
    try:
        shown(receipt)
    except (Invalid, TypeError, ValueError) as error:
        raise InDoubt(f"the receipt can't be recorded: {error}") from error
    return receipt


def mismatch(ask: Ask, receipt: Receipt, key: str) -> str:
    """Return in words why a receipt can't be the effect's under `key`, or nothing. An absent field proves nothing."""
    proposal = ask.proposal
    if receipt.key is not None and receipt.key != key:
        return "it bears another key"
    if proposal.currency and receipt.currency and receipt.currency.upper() != proposal.currency:
        return f"the currency is {quoted(receipt.currency.upper())}, not {proposal.currency}"
    if proposal.amount_minor is not None:
        if receipt.amount is None and ask.undo_of is None:
            return "the receipt names no amount"
        # An undo's receipt need not name one; where it does, it is what was done.
        if receipt.amount is not None and _minor(receipt, proposal.currency or "") != proposal.amount_minor:
            return f"the amount is {receipt.amount}"
    named = proposal.target is not None and receipt.target is not None and ask.undo_of is None
    if named and receipt.target != proposal.target:
        return "the target is another one"
    if ask.facts.account and receipt.account is not None and receipt.account != ask.facts.account:
        return "the vendor account is another one"
    return ""


def _minor(receipt: Receipt, currency: str) -> int | None:
    """The receipt's amount in minor units; None where the currency can't have such an amount."""
    assert receipt.amount is not None
    try:
        return to_minor(receipt.amount, currency)
    except Invalid:
        return None


def judge(
    effect: Effect, ask: Ask, answer: LookupAnswer | CannotSay | None, now: datetime, *, may_send: bool = True
) -> Verdict:
    """Say what follows from a look-up's `answer` (None: the tool has no look-up) at `now`. Pure.

    `may_send` is false for a run that is to stop: nothing is sent for it any more, not even again.
    """
    if isinstance(answer, Receipt):
        wrong = mismatch(ask, answer, effect.key)
        if wrong:
            return Doubt(
                f"The vendor has {quoted(answer.id)} under our key, but {wrong}.",
                {"candidates": [shown(answer)]},
            )
        return Adopt(answer)
    if isinstance(answer, Candidates):
        return Doubt(_several(effect, answer), {"candidates": [shown(r) for r in answer.receipts]})
    if may_send and key_is_good(effect, ask.facts, now):
        since = now - (effect.last_sent_at or now)
        return SendAgain(max(pause(effect.sends - 1) - since, timedelta(0)))
    if isinstance(answer, CannotSay):
        if now < (effect.first_sent_at or effect.recorded_at) + PATIENCE:
            return LookAgain(pause(effect.looks))
        return Doubt(silent(answer), {})
    if answer is not None and now < quiet_from(effect, ask.facts):
        return LookAgain(min(pause(effect.looks), quiet_from(effect, ask.facts) - now))
    return Doubt(_why_not(effect, ask, answer, now), {})


def silent(answer: CannotSay) -> str:
    """Return in words that a vendor has not been able to say for too long, with its own last ones."""
    return f"The vendor has not been able to say for {PATIENCE}: {quoted(str(answer), LONGEST_ANSWER)}"


def _several(effect: Effect, answer: Candidates) -> str:
    if any(receipt.key == effect.key for receipt in answer.receipts):
        return "The vendor shows several effects under our key."
    return f"The vendor shows {len(answer.receipts)} that could be it; none bears our key."


def _why_not(effect: Effect, ask: Ask, answer: LookupAnswer | None, now: datetime) -> str:
    shows = "can't be asked" if answer is None else "shows nothing of ours"
    if effect.error_saved:
        return f"The vendor answers with an error under our key, so repeating can't succeed, and {shows}."
    if ask.facts.idempotent_for is None:
        return f"The vendor honours no key, so repeating could act twice, and {shows}."
    if key_is_good(effect, ask.facts, now):
        return f"The run is to stop, so nothing is sent again, and the vendor {shows}."
    return f"The key is too old to repeat safely, and the vendor {shows}."


def pause(times: int) -> timedelta:
    """Return how long to wait after `times` tries: doubling from half a second to five minutes, with jitter;
    none at first.
    """
    if times <= 0:
        return timedelta(0)
    longest = min(_FIRST_PAUSE * 2 ** min(times, 16), _LONGEST_PAUSE)
    return timedelta(seconds=longest * (0.5 + random.random() / 2))  # jitter, not a secret


def shown(receipt: Receipt) -> dict[str, Any]:
    """Return a receipt as plain JSON evidence."""
    evidence: dict[str, Any] = plain(asdict(receipt))
    return evidence


def call_of(
    effect: Effect, ask: Ask, run_ref: str, timeout: float, args: Mapping[str, Any] | None = None
) -> Call:
    """Return the call that a tool's functions get, for one request of at most `timeout` seconds."""
    return Call(
        key=effect.key,
        run=run_ref,
        timeout=timeout,
        args=args if args is not None else ask.proposal.args,
        undoes=ask.undoes,
        first_sent_at=effect.first_sent_at or effect.forgotten_since,
    )


def look(effect: Effect, ask: Ask, run_ref: str) -> LookupAnswer | CannotSay | None:
    """Ask the vendor what became of an effect; first of all what a worker without a lease has left behind.

    Whatever else a look-up raises is an inability to say, never an absence. No transaction may be open.
    """
    left = late_receipt(effect)
    if left is not None:
        return left
    if ask.look is None or faults.switch("lookup.skip"):
        return None
    try:
        with asking("lookup"):
            answer: object = ask.look(call_of(effect, ask, run_ref, LOOKUP_TIMEOUT))
    except CannotSay as error:
        answer = error
    except Exception as error:
        answer = CannotSay(f"{type(error).__name__}: {error}")
    return readable(answer)


def look_up(claim: Claim, effect: Effect, ask: Ask) -> LookupAnswer | CannotSay | None:
    """Look an effect up as the worker of its run, which may hang no longer than a look-up takes.

    Raises HandingBack before it asks, where this worker is to end.
    """
    draining.check(claim.run_ref)
    with claim.within(LOOKUP_TIMEOUT):
        return look(effect, ask, claim.run_ref)


def readable(answer: object) -> LookupAnswer | CannotSay:
    """A look-up's answer, or that it can't be read: author code answers here, and what it says gets recorded."""
    if isinstance(answer, (Absent, CannotSay)):
        return answer
    try:
        if isinstance(answer, Candidates):
            return Candidates(tuple(checked(one) for one in answer.receipts))
        return checked(answer)
    except InDoubt as error:
        return CannotSay(f"unreadable look-up: {error}")


def late_receipt(effect: Effect) -> Receipt | None:
    """Return the receipt in a `late answer` event: a worker had it, but no lease to settle the effect with."""
    detail = (
        EventDetail.objects.select_related("sealed__run")
        .filter(
            event__effect_key=effect.key,
            event__kind=EventKind.LATE_ANSWER.value,
            event__body__contains='"receipt"',
        )
        .order_by("event_id")
        .first()
    )
    return None if detail is None else outcome.receipt_from(vault.read(detail.sealed))


def settle(claim: Claim, effect: Effect, ask: Ask, *, may_send: bool = True) -> Verdict:
    """Reconcile one pending effect as far as software can: adopt what is found, or say what must follow.

    A `Doubt` has been put before a person when this returns. Raises LeaseLost, or HandingBack before it asks.
    """
    answer = look_up(claim, effect, ask)
    verdict = judge(effect, ask, answer, clock.db_now(), may_send=may_send)
    if isinstance(verdict, Adopt):
        try:
            outcome.applied(claim, effect, verdict.receipt, adopted=True)
        except outcome.ReceiptTaken as error:
            verdict = Doubt(
                f"The vendor's {quoted(verdict.receipt.id)} matches, but {error}.",
                {"candidates": [shown(verdict.receipt)]},
            )
    elif answer is not None:
        outcome.looked(claim, effect, type(answer).__name__.lower())
    if isinstance(verdict, Doubt):
        outcome.doubt(claim, effect, Attention.IN_DOUBT, verdict.sentence, verdict.evidence)
    return verdict
