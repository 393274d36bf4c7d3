"""What a person's answer at a gate will do, in sentences, before it is given."""

from __future__ import annotations

from collections.abc import Sequence

from django.contrib.auth.models import User

from approvals import outcomes
from approvals.models import Gate
from approvals.queries import words
from approvals.queries.tally import LISTED
from durable.ledger import gating
from durable.models import Effect
from durable.states import EffectState
from durable.text import quoted


def of_reject(gate: Gate) -> list[str]:
    """What a no at a gate does."""
    effect = gate.effect
    lines = [f"Nothing is sent. Step {effect.step} goes on with your refusal, and may do something else."]
    if effect.amount_minor is not None and effect.undo_of_id is None:
        lines.append(
            f"{words.money(effect.amount_minor, effect.currency)} is given back to the run's budget."
        )
    return lines


def once_more(gate: Gate) -> list[str]:
    """What was done already, or may have been, though it may be done once; nothing for all that is not so."""
    effect = gate.effect
    if not effect.once_per:
        return []
    found = list(gating.acts_alike(effect.once_per, effect.pk).select_related("run")[:LISTED])
    return [*map(_earlier, found), "What you approve moves it once more, beside these."] if found else []


def _earlier(effect: Effect) -> str:
    what = words.title(effect.tool, effect.amount_minor, effect.currency)
    if effect.state != EffectState.APPLIED:
        return f"{what} by {effect.run.ref} may have happened: {effect.key} is {effect.state}."
    at = outcomes.moment(effect.settled_at or effect.recorded_at)
    return f"{what} by {effect.run.ref} at {at}, receipt {quoted(effect.receipt_id)}."


def of_edit(gate: Gate, able: Sequence[User], editor: User) -> list[str]:
    """What an edit at a gate does, and who may decide about it then."""
    others = [outcomes.name(person) for person in able if person.pk != editor.pk]
    who = ", ".join(others[:LISTED]) or "nobody yet: an admin must name one"
    return [
        f"Opens round {gate.round + 1} about what you write; nothing is sent by it.",
        f"May approve it then: {who}.",
    ]


def of_ask_back(gate: Gate) -> list[str]:
    """What a question at a gate does."""
    return [f"It stays undecided. Unless it is decided by {outcomes.moment(gate.decide_by)}, it expires."]


def of_answer(gate: Gate) -> list[str]:
    """What an answer to a reviewer's question does."""
    return [
        f"Opens round {gate.round + 1} about the same payload, with your answer beside it.",
        "Nothing is sent by it.",
    ]
