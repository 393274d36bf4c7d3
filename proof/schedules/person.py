"""The people of a schedule. They are honest and have no memory: they look at what waits, and at the vendor's own book.

The reviewer answers gates through the console's one door. The operator settles what software could not: after
quiescence they look in the vendor's book, and say what it says.
"""

from __future__ import annotations

from decimal import Decimal

from django.contrib.auth.models import User

from approvals.decisions import Answer, Circumstances, decide
from approvals.models import Gate
from approvals.states import Verdict
from durable import clock, recovery, steering, verdicts
from durable.models import Effect, Run, Wait
from durable.states import Attention, EffectState
from local.vendor import Vendor
from proof.schedules import clockwork
from proof.schedules.notes import Pen

REVIEWER, OPERATOR = "marta", "sven"
_DESK = Circumstances(ip="192.0.2.7", browser="the proof", authenticated="session")


def answer_gate(wait: Wait, pen: Pen, *, says_no: bool) -> None:
    """Say yes, or no where that is the reviewer's part, to what the gate shows."""
    gate = Gate.objects.select_related("effect").get(wait=wait)
    verdict = Verdict.REJECT if says_no else Verdict.APPROVE
    if not says_no:
        pen.write("yes", yes=f"{gate.effect.key} {gate.digest}")
    given = Answer(verdict, gate.digest, gate.round, words="wrong order" if says_no else "")
    decide(User.objects.get(username=REVIEWER), gate.pk, given, _DESK)


def attend(run: Run, wait: Wait, vendor: Vendor, pen: Pen, *, sweeps: bool) -> None:
    """Answer one open attention."""
    pen.write("met", kind=f"asked: {wait.name}")
    if wait.name == Attention.CONFLICT:
        # The operator puts the code back that the sent payload came from.
        pen.write("code", code=1 - pen.notes.code)
    if wait.effect_id is None:
        steering.retry(run.ref, actor=OPERATOR, reason="looked at; try it again")
        return
    effect = Effect.objects.select_related("run").get(pk=wait.effect_id)
    if effect.state != EffectState.IN_DOUBT:
        verdicts.acknowledge(effect.key, actor=OPERATOR, reason="seen")
    elif _contradicts(wait, vendor):
        _found_by_sweeper(run, effect, vendor, pen)
    elif not (sweeps and _found_by_sweeper(run, effect, vendor, pen)):
        _settle(run, effect, vendor, pen)


def _contradicts(wait: Wait, vendor: Vendor) -> bool:
    """Whether the evidence shows another sum than the book: nobody signs that, it is looked up anew."""
    booked = {one["id"]: one["amount"] for one in vendor.book()}
    shown = ((one["id"], one["amount"]) for one in wait.detail.get("candidates", []))
    return any(name in booked and _other(amount, booked[name]) for name, amount in shown)


def _other(one: str | None, other: str | None) -> bool:
    return one is not None and other is not None and Decimal(one) != Decimal(other)


def _settle(run: Run, effect: Effect, vendor: Vendor, pen: Pen) -> None:
    outlook = verdicts.outlook(effect)
    if not outlook.may_be_said:
        clockwork.passes(vendor, run.pk, (outlook.not_before - clock.db_now()).total_seconds() + 1)
    booked = [one["id"] for one in vendor.book() if one["key"] == effect.key]
    if booked:
        pen.write("met", kind="a person: it happened")
        verdicts.happened(effect.key, actor=OPERATOR, reason="it is in the book", receipt_id=booked[0])
    else:
        pen.write("met", kind="a person: it did not")
        verdicts.did_not(effect.key, actor=OPERATOR, reason="it is not in the book")


def _found_by_sweeper(run: Run, effect: Effect, vendor: Vendor, pen: Pen) -> bool:
    """Let the sweeper look once more before people do. Whether that has settled it."""
    clockwork.passes(vendor, run.pk, 90)
    recovery.look_again(effect)
    effect.refresh_from_db()
    if effect.state == EffectState.IN_DOUBT:
        return False
    pen.write("met", kind="the sweeper adopted")
    return True
