"""How each effect stands on its run's way back, and what all of them come to: counted, however many there are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from approvals.queries.words import WORDS
from durable import tools
from durable.errors import InterlockError
from durable.models import Run
from durable.sql import answers
from durable.states import EffectState, RunState
from durable.text import quoted

#: What the ledger says of an effect that was not undone, in words.
HOW = {
    "not undoable": "No undo is declared for it: what it did stays done",
    "stopped": "Not tried: the undo of something that it depends on did not succeed",
    "refused": "People said no to its undo",
    "failed": "The vendor refused its undo for good",
}

# Effects that stand alike are one group: of the same tool and currency, with undos that stand alike.
_GROUPS = """
WITH told AS (
    SELECT effect_key, max(durable_body(body) ->> 'how') FILTER (WHERE kind = 'not undoable') AS how,
           bool_or(kind = 'settled') AS closed
    FROM durable_ledgerevent
    WHERE run_ref = %(ref)s AND kind IN ('not undoable', 'settled') AND effect_key <> '' AND %(told)s
    GROUP BY effect_key
), undos AS (
    SELECT DISTINCT ON (undo_of_id) undo_of_id, state FROM durable_effect
    WHERE run_id = %(run)s AND undo_of_id IS NOT NULL ORDER BY undo_of_id, id DESC
)
SELECT e.tool, e.currency, undos.state, coalesce(told.how, ''), coalesce(told.closed, false), count(*),
       sum(e.amount_minor)
FROM durable_effect e
LEFT JOIN undos ON undos.undo_of_id = e.id
LEFT JOIN told ON told.effect_key = e.key
WHERE e.run_id = %(run)s AND e.undo_of_id IS NULL AND e.state = 'applied'
GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4, 5
"""


@dataclass(frozen=True, slots=True)
class Group:
    """So many effects that stand alike, and their amounts: undone, lost (they stay done), and lost but seen to."""

    count: int
    currency: str
    minor: int | None
    undone: bool
    lost: bool
    closed: bool


class Totals:
    """All that a run has applied, by how it stands."""

    def __init__(self, groups: Iterable[Group]) -> None:
        self.groups = list(groups)
        self.count = sum(one.count for one in self.groups)
        self.undone = sum(one.count for one in self.groups if one.undone)
        self.lost = sum(one.count for one in self.groups if one.lost)
        self.left = sum(one.count for one in self.groups if one.lost and not one.closed)

    def sums(self) -> list[dict[str, Any]]:
        """Money by currency: undone, still to undo, and what stays moved."""
        found: dict[str, dict[str, int]] = {}
        for one in self.groups:
            if one.minor is not None:
                sums = found.setdefault(one.currency, {"undone": 0, "ahead": 0, "lost": 0})
                sums["undone" if one.undone else "lost" if one.lost else "ahead"] += one.minor
        return [{"currency": currency, **sums} for currency, sums in sorted(found.items())]


def totals(run: Run, *, told: bool) -> Totals:
    """Count everything that a run has applied, in one query; `told` says that its ledger may know of the way back."""
    state = RunState(run.state)
    found = answers(_GROUPS, {"run": run.pk, "ref": run.ref, "told": told})
    return Totals(_group(state, *row) for row in found)


def _group(
    state: RunState,
    tool: str,
    currency: str,
    undo: str | None,
    how: str,
    closed: bool,
    count: int,
    minor: Any,
) -> Group:
    shown = None if undo is None else {"state": undo, "receipt_id": "", "failure": ""}
    look, _, lost = standing({"tool": tool}, shown, state, how)
    return Group(count, currency, None if minor is None else int(minor), look == "compensated", lost, closed)


def standing(
    row: Mapping[str, Any], undo: Mapping[str, Any] | None, state: RunState, how: str
) -> tuple[str, str, bool]:
    """How one effect stands on the way back: the word whose look it has, a sentence, and whether it stays undone."""
    ended = state in (RunState.COMPENSATED, RunState.PARTLY_COMPENSATED)
    if undo is not None:
        return _by_undo(undo, ended=ended)
    if how:
        return "not undoable", f"{HOW.get(how, how)}.", True
    look, note, can = _would(row)
    if state is RunState.COMPENSATING:
        return ("queued", f"Its turn comes. {note}", False) if can else (look, note, True)
    if ended:
        return "not undoable", note if not can else "The ledger knows of no undo of it.", True
    return look, note, not can


def _by_undo(undo: Mapping[str, Any], *, ended: bool) -> tuple[str, str, bool]:
    state = EffectState(undo["state"])
    if state is EffectState.APPLIED:
        return "compensated", f"Undone, by {quoted(undo['receipt_id'])}.", False
    if state is EffectState.GATED:
        return "gated", "Its undo waits for people's answer.", False
    if state is EffectState.IN_DOUBT:
        return "in doubt", "Nobody can tell yet whether its undo happened; nothing goes on over that.", False
    if state is EffectState.FAILED:
        why = quoted(undo["failure"], WORDS) if undo["failure"] else "no reason given"
        return "failed", f"The vendor refused its undo for good: {why}.", True
    if state in (EffectState.REJECTED, EffectState.EXPIRED, EffectState.WITHDRAWN):
        verb = {"rejected": "People said no to", "expired": "Nobody decided in time on"}
        return state.value, f"{verb.get(state.value, 'Nobody lets out any more')} its undo.", True
    return state.value, "Its undo is on its way.", ended


def _would(row: Mapping[str, Any]) -> tuple[str, str, bool]:
    """What undoing it would do, by the tool as it is declared now."""
    try:
        act = tools.get(row["tool"]).undo_act
    except InterlockError:
        return "code missing", "Its tool is not known any more, so nobody knows how to undo it.", False
    if act is None:
        return "not undoable", f"{HOW['not undoable']}.", False
    gated = " People are asked first." if act.effect_class == "irreversible" else ""
    rest = f" Not if the undo of {' or '.join(act.depends_on)} fails." if act.depends_on else ""
    return "compensating", f"Undone by {act.name}.{gated}{rest}", True
