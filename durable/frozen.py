"""Frozen results: what a re-executed step gets back instead of asking again.

A read that was frozen stays so until its step ends, if the step has recorded an effect since: what an effect
rests on must not change under it. Before that, a result past its freshness is fetched again. A model's answer
never ages; its tokens are reserved before the call and billed after, both durably.
"""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

from django.db import connection
from django.db.models import F, Q

from durable.beats import committing, stating
from durable.errors import BudgetExhausted, LeaseLost
from durable.ledger import Place
from durable.models import Budget, Frozen, Run
from durable.models.fields import Clock
from durable.text import MAX_DEPTH, mend
from durable.transitions import Claim, hold_claim
from durable.transitions.hot import BILL_LEFT, KEEP


def at(claim: Claim, place: Place, tool: str, args_digest: str) -> Frozen | None:
    """Return what was frozen for this very call, or None: another tool or other arguments make it worthless."""
    return Frozen.objects.filter(
        run_id=claim.run_id,
        step=place.step,
        visit=place.visit,
        ordinal=place.ordinal,
        tool=tool,
        args_digest=args_digest,
    ).first()


def still_good(frozen: Frozen, *, effects_recorded: bool) -> bool:
    """Whether a frozen read may be used: it is fresh, ageless, or an effect of this step rests on it."""
    if frozen.fresh_until is None or effects_recorded:
        return True
    return Frozen.objects.filter(pk=frozen.pk, fresh_until__gt=Clock()).exists()


def mended(value: Any, levels: int = MAX_DEPTH) -> Any:
    """Return what came from outside with the text that can't be stored (NUL, half an emoji) replaced by U+FFFD."""
    if isinstance(value, str):
        return mend(value)
    if isinstance(value, dict) and levels:
        return {mended(key): mended(item, levels - 1) for key, item in value.items()}
    if isinstance(value, list | tuple) and levels:
        return [mended(item, levels - 1) for item in value]
    return value


def keep(
    claim: Claim, place: Place, tool: str, args_digest: str, result: Any, freshness: timedelta | None
) -> None:
    """Freeze a read's result in place of what stood there, in one lazy commit. Raises LeaseLost."""
    values: dict[str, Any] = {
        "run": claim.run_id,
        "attempt": claim.attempt,
        "nonce": claim.nonce,
        "lease": claim.lease,
        "step": place.step,
        "visit": place.visit,
        "ordinal": place.ordinal,
        "tool": tool,
        "digest": args_digest,
        "result": json.dumps(result),
        "freshness": freshness,
    }
    with stating("freeze"), connection.cursor() as cursor:
        cursor.execute(KEEP, values)
        if cursor.rowcount != 1:
            raise LeaseLost(f"attempt {claim.attempt} no longer holds {claim.run_ref}; nothing was frozen")


def reserve_model(claim: Claim, place: Place, model: str, args_digest: str, tokens: int) -> Frozen:
    """Reserve a model call's tokens before it is made. Raises BudgetExhausted, LeaseLost; then nothing is reserved.

    A call that a crash cut off keeps its old reservation as spent: the vendor may have billed it.
    """
    with committing("reserve"):
        run = hold_claim(claim)
        _bill_lost(run, place)
        room = Q(tokens_limit=None) | Q(tokens_limit__gte=F("tokens_used") + F("tokens_reserved") + tokens)
        if not Budget.objects.filter(room, pk=run.budget_id).update(
            tokens_reserved=F("tokens_reserved") + tokens
        ):
            raise BudgetExhausted("tokens", f"{tokens} tokens asked; the budget of {run.ref} has fewer left")
        frozen, _ = Frozen.objects.update_or_create(
            run=run,
            step=place.step,
            visit=place.visit,
            ordinal=place.ordinal,
            defaults={
                "tool": model,
                "args_digest": args_digest,
                "answered": False,
                "reserved": tokens,
                "result": None,
            },
        )
    return frozen


def bill_model(claim: Claim, frozen: Frozen, answer: Any, tokens: int) -> None:
    """Record a model's answer and what it cost in place of its reservation. Raises LeaseLost."""
    with committing("bill"):
        run = hold_claim(claim)
        Budget.objects.filter(pk=run.budget_id).update(
            tokens_reserved=F("tokens_reserved") - frozen.reserved, tokens_used=F("tokens_used") + tokens
        )
        Frozen.objects.filter(pk=frozen.pk).update(
            answered=True, result=answer, tokens=F("tokens") + tokens, reserved=0
        )


def bill_left(run: Run) -> None:
    """Bill what a locked run, that is about to end, still has reserved: calls that were cut off and never repeated.

    Their vendor may have billed them, so they count as spent. A reservation that nobody comes back to would stand
    for ever, in the way of every run that shares the budget.
    """
    with connection.cursor() as cursor:
        cursor.execute(BILL_LEFT, {"run": run.pk, "budget": run.budget_id})


def _bill_lost(run: Run, place: Place) -> None:
    lost = Frozen.objects.filter(
        run=run, step=place.step, visit=place.visit, ordinal=place.ordinal, answered=False
    ).first()
    if lost is not None:
        Budget.objects.filter(pk=run.budget_id).update(
            tokens_reserved=F("tokens_reserved") - lost.reserved, tokens_used=F("tokens_used") + lost.reserved
        )
        Frozen.objects.filter(pk=lost.pk).update(
            tokens=F("tokens") + F("reserved"), reserved=0, answered=True
        )
