"""The people of a schedule. They are honest and have no memory: they look at what waits, and at the vendor's own book.

The reviewer answers gates through the console's one door. The operator settles what software could not: after
quiescence they look in the vendor's book, and say what it says.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from django.contrib.auth.models import User

from approvals.decisions import Answer, Circumstances, decide
from approvals.models import Gate
from approvals.states import Verdict
from durable import clock, looking, steering, vault, verdicts
from durable.models import Effect, Run, Wait
from durable.states import Attention, EffectState
from local.vendor import Vendor
from proof.schedules import clockwork
from proof.schedules.errand import LESS
from proof.schedules.notes import Pen

REVIEWER, SECOND_REVIEWER, OPERATOR = "marta", "jonas", "sven"
_DESK = Circumstances(ip="192.0.2.7", browser="the proof", authenticated="session")


def answer_gate(wait: Wait, pen: Pen, says: str = "yes") -> None:
    """Answer what the gate shows, as it is the reviewer's part (`plan.REVIEWS`).

    Who edits does so once, at the first gate of the large act; the yes to that is somebody else's.
    """
    gate = Gate.objects.select_related("effect__payload__run").get(wait=wait)
    first_asking = gate.round == 1 and gate.effect.step == "large" and gate.effect.undo_of_id is None
    by, verdict, words, args = REVIEWER, Verdict.APPROVE, "as agreed", None
    if says == "no":
        verdict, words = Verdict.REJECT, "wrong order"
    elif says == "edit" and first_asking and gate.effect.link == 1:
        verdict, words, args = Verdict.EDIT, "less will do", _less(vault.read(gate.effect.payload)["args"])
    elif says == "edit":
        by = SECOND_REVIEWER
    if verdict is Verdict.APPROVE:
        pen.write("yes", yes=f"{gate.effect.key} {gate.digest}")
    else:
        pen.write("met", kind=f"a person: {verdict.value}")
    given = Answer(verdict, gate.digest, gate.round, words, args)
    decide(User.objects.get(username=by), gate.pk, given, _DESK)


def _less(args: dict[str, Any]) -> dict[str, Any]:
    """The arguments with the sum, or the number of pieces, that the reviewer thinks right."""
    return {**args, **({"amount": str(LESS)} if "amount" in args else {"quantity": LESS})}


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
    looking.look_again(effect)
    effect.refresh_from_db()
    if effect.state == EffectState.IN_DOUBT:
        return False
    pen.write("met", kind="the sweeper adopted")
    return True
