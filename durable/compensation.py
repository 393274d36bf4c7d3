"""Compensation: the saga's way back. Undos are hand-written acts, and each is an effect like any other.

They run in reverse order of application, each once, under the undone effect's key and `:undo`, with intent,
outcome and reconciling, gated where their class says so. A failed undo stops those that are declared to
depend on it, the others run. What can't be undone is listed, not hidden: the run then ends as partly
compensated.
"""

from __future__ import annotations

from dataclasses import dataclass

from durable import protocol, tools, vault
from durable.errors import EffectFailed, EffectRefused, Invalid, Suspension, UnknownTool
from durable.ledger import Ask, outcome
from durable.models import Effect, Run
from durable.states import Attention, EffectState, WaitKind
from durable.transitions import Claim
from durable.waits import OPERATOR, WaitSpec


@dataclass(frozen=True, slots=True)
class Undone:
    """What became of one applied effect on the way back."""

    effect: Effect
    how: str  # undone, not undoable, failed, refused, stopped, code missing
    why: str = ""


def to_undo(run: Run) -> list[Effect]:
    """Return the run's applied effects, the last applied first. What a parent applied stays the parent's to undo."""
    applied = Effect.objects.filter(run=run, state=EffectState.APPLIED.value, undo_of=None)
    return list(applied.select_related("proof", "payload").order_by("-applied_no"))


def advance(claim: Claim, run: Run) -> list[Undone]:
    """Undo everything that is not undone yet, as far as it goes now. Returns what became of each effect.

    Raises Suspension where people or time must come first (a gate, a doubt): nothing is undone over an unknown.
    """
    results: list[Undone] = []
    broken: set[str] = set()
    for effect in to_undo(run):
        undone = _undo(claim, run, effect, broken)
        if undone.how != "undone":
            broken.add(effect.tool)
        results.append(undone)
    missing = [undone.why for undone in results if undone.how == "code missing"]
    if missing:
        # Not the end of it: the code may come back, and an operator then wakes the run.
        detail = {"sentence": "; ".join(missing)}
        raise Suspension(
            WaitSpec(WaitKind.ATTENTION, Attention.CODE_MISSING.value, waits_for=OPERATOR, detail=detail)
        )
    return results


def _undo(claim: Claim, run: Run, effect: Effect, broken: set[str]) -> Undone:
    assert effect.proof is not None
    try:
        tool = tools.get(effect.tool)
        if tool.undo_act is None:
            return Undone(effect, "not undoable")
        if broken & set(tool.undo_act.depends_on):
            return Undone(effect, "stopped")
        receipt = outcome.receipt_from(vault.unseal(claim.seal_key, effect.proof))
        ask = Ask.to_undo(tool, effect, vault.unseal(claim.seal_key, effect.payload)["args"], receipt)
    except UnknownTool as error:
        return Undone(effect, "code missing", str(error))
    except (Invalid, vault.Tampered) as error:
        return Undone(effect, "not undoable", str(error))
    try:
        protocol.perform(claim, run, ask)
    except EffectFailed as error:
        return Undone(effect, "failed", str(error))
    except EffectRefused as error:
        return Undone(effect, "refused", str(error))
    return Undone(effect, "undone")
