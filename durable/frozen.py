"""Frozen results: what a re-executed step gets back instead of asking again.

A read that was frozen stays so until its step ends, if the step has recorded an effect since: what an effect
rests on must not change under it. Before that, a result past its freshness is fetched again. A model's answer
never ages; its tokens are reserved before the call and billed after, with what the run writes next.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from durable import sql
from durable.beats import stating
from durable.errors import BudgetExhausted, Invalid, LeaseLost
from durable.ledger import Place
from durable.models import Frozen
from durable.models.fields import Clock
from durable.text import MAX_DEPTH, mend
from durable.transitions import Bill, Claim
from durable.transitions.billing import BILL, RESERVE
from durable.transitions.hot import KEEP


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
    values = _at(claim, place, tool, args_digest) | {"result": json.dumps(result), "freshness": freshness}
    with stating("freeze"):
        if sql.count(KEEP, values) != 1:
            raise LeaseLost(f"attempt {claim.attempt} no longer holds {claim.run_ref}; nothing was frozen")


@dataclass(frozen=True, slots=True)
class Reserved:
    """What a model call begins with: the answer that is on record already (`known`), or the row that waits for one."""

    known: bool
    answer: Any
    frozen: int
    tokens: int


def reserve_model(claim: Claim, place: Place, model: str, args_digest: str, tokens: int) -> Reserved:
    """Return the recorded answer to this very call, or reserve the call's tokens before it is made, in one lazy commit.

    Raises BudgetExhausted, LeaseLost; then nothing is reserved. A call that a crash cut off keeps its old reservation
    as spent: the vendor may have billed it.
    """
    values = _at(claim, place, model, args_digest) | {"tokens": tokens}
    with stating("reserve"):
        row = sql.answer(RESERVE, values)
    if row is None:
        raise LeaseLost(f"attempt {claim.attempt} no longer holds {claim.run_ref}; nothing was reserved")
    known, answer, written = row
    if known:
        return Reserved(True, json.loads(answer), 0, 0)
    if written is None:
        raise BudgetExhausted(
            "tokens", f"{tokens} tokens asked; the budget of {claim.run_ref} has fewer left"
        )
    return Reserved(False, None, written, tokens)


def billed(given: Any, model: str) -> tuple[Any, int]:
    """What a model function returned, taken apart. Raises Invalid where it is not an answer and its tokens."""
    pair = isinstance(given, (tuple, list)) and len(given) == 2
    if not pair or isinstance(given[1], bool) or not isinstance(given[1], int) or given[1] < 0:
        was = f"tokens {given[1]!r:.40}" if pair else f"a {type(given).__name__}"
        raise Invalid(
            f"answer of {model}",
            f"must be the answer and the tokens that it cost, not {was}; write `return answer, tokens`",
        )
    return given[0], given[1]


def answered(claim: Claim, reserved: Reserved, answer: Any, tokens: int) -> None:
    """Take a model's answer and what it cost. It goes on record with what the run writes next: see `bill`."""
    claim.unbilled = Bill(reserved.frozen, reserved.tokens, answer, tokens)


def bill(claim: Claim) -> None:
    """Put on record what a model has answered last, if nothing that was written since has taken it along.

    In place of its reservation, in one lazy commit. Raises LeaseLost.
    """
    if claim.unbilled is None:
        return
    values = claim.token | Bill.values(claim.unbilled)
    with stating("bill"):
        if sql.answer(BILL, values) is None:
            raise LeaseLost(f"attempt {claim.attempt} no longer holds {claim.run_ref}; nothing was billed")
    claim.unbilled = None


def _at(claim: Claim, place: Place, tool: str, args_digest: str) -> dict[str, Any]:
    where = {"step": place.step, "visit": place.visit, "ordinal": place.ordinal}
    return claim.token | where | {"tool": tool, "digest": args_digest}
