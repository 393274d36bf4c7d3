"""Which effects need people, beyond what their class says. Today one rule in code; each rule is one function.

A rule may only tighten: it returns a demand or nothing, and the strictest demand wins. Whoever asks must take an
exception for the strictest of all: no rule that fails lets anything out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from django.conf import settings
from django.db.models import Sum

from durable import rounds
from durable.digest import keyed_hash
from durable.gatekeeper import Question
from durable.ledger import gating
from durable.models import Effect, Run, Subject
from durable.money import exponent, from_minor
from durable.states import REFUSED, EffectState

#: Major units of whatever currency: above this, people are asked.
LIMIT = 100

#: Effects in these states have moved nothing and never will, so their amounts do not count.
_MOVES_NOTHING = sorted(REFUSED | {EffectState.FAILED})


@dataclass(frozen=True, slots=True)
class Demand:
    """What a rule asks for: a person's yes, or (`refuses`) that nothing of the kind is sent at all."""

    reason: str
    refuses: bool = False


Rule = Callable[[Question], Demand | None]


def large_amount(question: Question) -> Demand | None:
    """Money above the limit, in one effect or in sum over this run, its forks and subject, needs a person."""
    if question.amount_minor is None:
        return None
    limit = LIMIT * 10 ** exponent(question.currency)
    if question.amount_minor > limit:
        return Demand(f"an amount above {LIMIT} {question.currency} needs a person")
    total = question.amount_minor + _moved_before(question)
    if total <= limit:
        return None
    whom = f" for this {_kinds(question)}" if question.subjects else ""
    return Demand(
        f"with earlier ones of this run{whom} it comes to {from_minor(total, question.currency):f}"
        f" {question.currency}; above {LIMIT} needs a person"
    )


RULES: tuple[Rule, ...] = (large_amount,)


def demand(question: Question) -> Demand | None:
    """Return the strictest demand of all rules, or None. Raises whatever a rule raises: that must count as a gate."""
    found = [asked for rule in RULES if (asked := rule(question)) is not None]
    return max(found, key=lambda asked: asked.refuses, default=None)


def question_of(effect: Effect) -> Question:
    """Put the question again about a recorded effect, as its payload stands now, and by the tool as it is declared now.

    Raises UnknownTool, Invalid, vault.Erased or vault.Tampered: then nobody can say that it may leave.
    """
    return gating.question(effect.run, rounds.ask_of(effect))


def _moved_before(question: Question) -> int:
    """Sum, in minor units, what was moved or may be for any of the subjects. Without a subject: in all.

    A run and its forks draw on one budget and count as one: no fork begins at nothing. What stands at the asking
    effect's own place is that effect, before an edit or another ask of its step.
    """
    here = {
        "run__ref": question.run_ref,
        "step": question.step,
        "visit": question.visit,
        "ordinal": question.ordinal,
    }
    family = Run.objects.filter(ref=question.run_ref).values("budget_id")
    earlier = (
        Effect.objects.filter(
            run__budget_id__in=family, undo_of=None, currency=question.currency, amount_minor__isnull=False
        )
        .exclude(**here)
        .exclude(state__in=_MOVES_NOTHING)
    )
    if question.subjects:
        hashes = [
            keyed_hash(kind, value, settings.INTERLOCK_HASH_KEY) for kind, value in question.subjects.items()
        ]
        # A subquery, not a join: an effect with two matching subjects counts once.
        earlier = earlier.filter(pk__in=Subject.objects.filter(hash__in=hashes).values("effect_id"))
    total = earlier.aggregate(total=Sum("amount_minor"))["total"]
    return int(total or 0)


def _kinds(question: Question) -> str:
    return " and ".join(sorted(question.subjects))
