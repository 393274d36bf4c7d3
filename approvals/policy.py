"""Which effects need people, beyond what their class says. Today one rule in code; each rule is one function.

A rule may only tighten: it returns a demand or nothing, and the strictest demand wins. Whoever asks must take an
exception for the strictest of all: no rule that fails lets anything out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from django.conf import settings

from durable import rounds
from durable.digest import keyed_hash
from durable.gatekeeper import Question
from durable.ledger import gating
from durable.models import Effect
from durable.money import exponent, from_minor
from durable.sql import answer, listed
from durable.states import REFUSED, EffectClass, EffectState
from durable.tools import Tool

#: Major units of whatever currency: above this, people are asked.
LIMIT = 100

#: Effects in these states have moved nothing and never will, so their amounts do not count.
_MOVES_NOTHING = listed(REFUSED | {EffectState.FAILED})

# Asked before every payment: by hand, because the ORM takes longer to write it than the server to answer.
_MOVED_BEFORE = f"""
SELECT coalesce(sum(e.amount_minor), 0)
FROM durable_run r
JOIN durable_run kin ON kin.budget_id = r.budget_id
JOIN {{effects}}
WHERE r.ref = %(ref)s AND e.undo_of_id IS NULL AND e.currency = %(currency)s AND e.amount_minor IS NOT NULL
  AND e.state NOT IN ({_MOVES_NOTHING})
  AND (kin.id, e.step, e.visit, e.ordinal) <> (r.id, %(step)s, %(visit)s, %(ordinal)s)
"""
_OF_ALL = _MOVED_BEFORE.format(effects="durable_effect e ON e.run_id = kin.id")


@cache
def _of_subjects(count: int) -> str:
    """The same for so many subjects. An effect with two of them counts once.

    Written out, not as one array: of that the server knows too little beforehand to keep its plan.
    """
    hashes = ", ".join(f"%(hash_{no})s" for no in range(count))
    return _MOVED_BEFORE.format(
        effects=f"""LATERAL (
    SELECT DISTINCT s.effect_id FROM durable_subject s WHERE s.run_id = kin.id AND s.hash IN ({hashes})
) about ON true
JOIN durable_effect e ON e.id = about.effect_id"""
    )


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


def told(tool: Tool) -> str:
    """Who is asked before an act of a tool, by its class and by the rules above, in a sentence for people."""
    if tool.effect_class is EffectClass.READ:
        return "Nobody: it has no effect."
    if tool.effect_class is EffectClass.IRREVERSIBLE:
        return "A reviewer, every time."
    whom = " or ".join(sorted(tool.facts.subjects))
    asked = []
    if tool.facts.money is not None:
        about = f" for the same {whom}" if whom else ""
        asked.append(f"above {LIMIT} in its currency, summed over its run{about}")
    if tool.facts.once_per:
        asked.append(f"for a second with the same {' and '.join(tool.facts.once_per)}")
    return f"A reviewer, {'; '.join(asked)}." if asked else "Nobody."


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
    hashes = [
        keyed_hash(kind, value, settings.INTERLOCK_HASH_KEY) for kind, value in question.subjects.items()
    ]
    values: dict[str, Any] = {
        "ref": question.run_ref,
        "step": question.step,
        "visit": question.visit,
        "ordinal": question.ordinal,
        "currency": question.currency,
    }
    values |= {f"hash_{no}": found for no, found in enumerate(hashes)}
    (total,) = answer(_of_subjects(len(hashes)) if hashes else _OF_ALL, values) or (0,)
    return int(total)


def _kinds(question: Question) -> str:
    return " and ".join(sorted(question.subjects))
