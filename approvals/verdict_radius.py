"""What the verdict "it happened, undo it" does beside settling its effect, before it is given: the run ends, and all
that it did is undone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from approvals.queries import tally, words
from approvals.queries.tally import Tally
from approvals.way_back import name, way_back, with_one_more
from durable import alone, standing
from durable.models import Effect
from durable.states import ENDED, ENDING, UNSETTLED, EffectState


@dataclass(frozen=True, slots=True)
class WayBack:
    """The sentences, the name of how the run stood that they were made from (`durable.standing`), and whether all that
    moves by it is more than one person may answer for.
    """

    name: str
    lines: Sequence[str]
    too_much: bool


def of(effect: Effect) -> WayBack:
    """Read what would be undone with an effect in doubt. The name was read first: it is never newer than the rest."""
    stood, found = standing.of(effect.run), tally.of(effect.run)
    own = {} if effect.amount_minor is None else {effect.currency: effect.amount_minor}
    undone = {part: minor for part, minor in found.undoable.parts.items() if alone.can_be_undone(part[0])}
    moved = _together(own if alone.can_be_undone(effect.tool) else {}, undone)
    return WayBack(stood.undoes, _lines(effect, found, moved), alone.too_much(_together(own, undone)))


def _together(own: Mapping[str, int], undone: Mapping[tuple[str, str], int]) -> dict[str, int]:
    sums = dict(own)
    for (_, currency), minor in undone.items():
        sums[currency] = sums.get(currency, 0) + minor
    return sums


def _lines(effect: Effect, found: Tally, moved: Mapping[str, int]) -> list[str]:
    state = effect.run.state
    lines = [] if state in ENDED or state in ENDING else ["No new effect starts, and the run never goes on."]
    unsent = found.some([EffectState.GATED, EffectState.APPROVED, EffectState.PENDING], unanswered=False)
    lines += [f"Withdrawn, never arrived: {name(row)}." for row in unsent.rows]
    lines += [f"Withdrawn too: {unsent.more:,} more."] if unsent.more else []
    others = found.some([EffectState.GATED, EffectState.APPROVED, *UNSETTLED], unanswered=True)
    rows = [row for row in others.rows if row["key"] != effect.key]
    lines += [f"Looked up first; nothing is undone before this is known: {name(row)}." for row in rows]
    lines += [f"And {others.more:,} more of these."] if others.more else []
    this = {
        "tool": effect.tool,
        "amount_minor": effect.amount_minor,
        "currency": effect.currency,
        "undo_of_id": None,
        "step": effect.step,
    }
    lines += ["Then, in this order:", *way_back(with_one_more(this, found.undoable))]
    shown = " and ".join(words.money(minor, currency) for currency, minor in sorted(moved.items()))
    return [*lines, f"Money that moves by all this: {shown}."] if shown else lines
