"""What an operator's act will do to this run, in sentences, before it is done. Reads what the page has read anyway.

No act runs something other than what is said here: the commands check again under their locks, and the ledger
answers for what was done, whatever a step asks for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from django.contrib.auth.models import User

from approvals import outcomes
from approvals.models import Gate
from approvals.queries import words
from durable import plan, tools
from durable.errors import InterlockError
from durable.models import Run
from durable.states import REFUSED, UNSETTLED, EffectState, RunState

Row = Mapping[str, Any]
#: More lines of one kind than this are counted, not listed.
LISTED = 6
_UNSENT = frozenset({EffectState.GATED, EffectState.APPROVED})


@dataclass(frozen=True, slots=True)
class Scene:
    """A run with its effects (rows of `queries.effects`, oldest first), its checkpoints and its open waits."""

    run: Run
    effects: Sequence[Row]
    checkpoints: Sequence[Row]
    waits: Sequence[Row]

    def having(self, states: Iterable[EffectState]) -> list[Row]:
        """The effects in these states."""
        wanted = {state.value for state in states}
        return [row for row in self.effects if row["state"] in wanted]

    @property
    def applied(self) -> list[Row]:
        """What could be undone: applied, no undo itself, and not undone yet; the last applied first."""
        undone = {row["undo_of_id"] for row in self.having([EffectState.APPLIED]) if row["undo_of_id"]}
        found = [
            row
            for row in self.having([EffectState.APPLIED])
            if row["undo_of_id"] is None and row["id"] not in undone
        ]
        return sorted(found, key=lambda row: row["applied_no"] or 0, reverse=True)

    @property
    def of_step(self) -> list[Row]:
        """What the step in which the run stands has on record."""
        here = (self.run.step, self.run.visit)
        return [
            row for row in self.effects if (row["step"], row["visit"]) == here and row["undo_of_id"] is None
        ]


def of(noun: str, scene: Scene) -> list[str]:
    """Return the sentences for one act, by its noun in the address."""
    return _RADIUS[noun](scene)


def name(row: Row) -> str:
    """An effect in a few words, with the step that asked: `Refund 10.00 EUR (pay)`."""
    title = words.title(row["tool"], row["amount_minor"], row["currency"], undo=row["undo_of_id"] is not None)
    return f"{title} ({row['step']})"


def _each(rows: Sequence[Row], text: Callable[[Row], str]) -> list[str]:
    lines = [text(row) for row in rows[:LISTED]]
    return [*lines, f"And {len(rows) - LISTED} more of the kind."] if len(rows) > LISTED else lines


def _named(text: str, row: Row) -> str:
    return f"{text}: {name(row)}."


def _things(rows: Sequence[Row], one: str, many: str) -> str:
    return f"1 {one}" if len(rows) == 1 else f"{len(rows)} {many}"


def _sums(rows: Sequence[Row]) -> str:
    """The amounts of effects by currency: ` (10.00 EUR, 900 JPY)`; nothing where no money is in them."""
    totals: dict[str, int] = {}
    for row in rows:
        if row["amount_minor"] is not None:
            totals[row["currency"]] = totals.get(row["currency"], 0) + row["amount_minor"]
    shown = ", ".join(words.money(minor, currency) for currency, minor in sorted(totals.items()))
    return f" ({shown})" if shown else ""


def _hold(scene: Scene) -> list[str]:
    lines = []
    if scene.run.state == RunState.RUNNING:
        lines.append(
            f"The worker at step {scene.run.step} sends nothing more; a request on its way is settled."
        )
    else:
        lines.append(
            f"It stays at step {scene.run.step or 'one'}; nothing leaves until somebody releases it."
        )
    gates = scene.having([EffectState.GATED])
    if gates:
        lines.append(
            f"{_things(gates, 'gate stays', 'gates stay')} open: an answer counts, and waits for the release."
        )
    lines.append("The budget's deadline and the gates' clocks run on.")
    return lines


def _release(scene: Scene) -> list[str]:
    lines = _each(scene.having([EffectState.APPROVED]), lambda row: f"Sent next, approved: {name(row)}.")
    lines += _each(scene.having(UNSETTLED), lambda row: f"Looked up first: {name(row)}.")
    lines += _each(scene.having([EffectState.GATED]), lambda row: f"Still waits for people: {name(row)}.")
    return lines or [f"It goes on at step {scene.run.step or 'one'}. Nothing of it is open."]


def _retry(scene: Scene) -> list[str]:
    lines = [f"Step {scene.run.step or 'one'} is executed again from its start, under the same keys."]
    found = scene.of_step
    for states, text in _ON_RECORD:
        rows = [row for row in found if row["state"] in {state.value for state in states}]
        lines += _each(rows, partial(_named, text))
    if not found:
        lines.append(
            "Nothing of this step is on record yet: what it asks for is new, and gated where rules say so."
        )
    done = [row for row in scene.having([EffectState.APPLIED]) if row not in found]
    if done:
        lines.append(f"Not touched: {_things(done, 'effect', 'effects')} of other steps{_sums(done)}.")
    return lines


_ON_RECORD: tuple[tuple[frozenset[EffectState], str], ...] = (
    (frozenset({EffectState.APPLIED}), "Answered from the record, not repeated"),
    (frozenset({EffectState.FAILED}), "Answered with its failure, not repeated"),
    (REFUSED, "Answered with the refusal"),
    (UNSETTLED, "Looked up first"),
    (frozenset({EffectState.APPROVED}), "Sent, as approved"),
    (frozenset({EffectState.GATED}), "Still asks people"),
)


def _skip(scene: Scene) -> list[str]:
    lines = [
        f"Step {scene.run.step} stays undone. It goes on at {_next(scene.run)}, or at the step that you name."
    ]
    unsent = [row for row in scene.having(_UNSENT) if not row["sends"]]
    lines += _each(unsent, lambda row: f"Withdrawn, never sent: {name(row)}.")
    applied = [row for row in scene.of_step if row["state"] == EffectState.APPLIED]
    lines += _each(applied, lambda row: f"Stays done: {name(row)}.")
    return lines


def steps(run: Run) -> list[str]:
    """The steps of the run's code, in its order; none where the code is gone."""
    try:
        return list(plan.get(run.agent).steps)
    except InterlockError:
        return []


def _next(run: Run) -> str:
    names = steps(run)
    if run.step not in names:
        return "no known step"
    place = names.index(run.step) + 1
    return names[place] if place < len(names) else "no step (this is the last one)"


def _state(scene: Scene) -> list[str]:
    kept = f"The old state stays in checkpoint {scene.run.version}."
    return [
        f"Step {scene.run.step or 'one'} sees the new state when it is executed next. {kept}",
        "Nothing is sent.",
    ]


def _fork(scene: Scene) -> list[str]:
    lines = ["A new run goes on from the checkpoint that you choose; this one stays as it is."]
    applied = [row for row in scene.having([EffectState.APPLIED]) if row["undo_of_id"] is None]
    if applied:
        lines.append("If it asks for the same at the same place, it gets the receipt that is there:")
        lines += _each(applied, lambda row: f"Not repeated: {name(row)}.")
        lines.append("What it asks for otherwise at such a place goes to people first.")
    lines.append("It draws on what is left of this run's budget; nothing is reset.")
    return lines


def _compensate(scene: Scene) -> list[str]:
    return _way_back(scene) or ["Nothing was applied that is not undone already. It ends as compensated."]


def _way_back(scene: Scene) -> list[str]:
    return [f"{place}. {_undo(row)}" for place, row in enumerate(scene.applied, start=1)]


def _undo(row: Row) -> str:
    try:
        act = tools.get(row["tool"]).undo_act
    except InterlockError:
        return f"Can't be undone now, its tool is not known any more: {name(row)}."
    if act is None:
        return f"Can't be undone: {name(row)}."
    gated = "; people are asked first" if act.effect_class == "irreversible" else ""
    rest = f"; not if the undo of {' or '.join(act.depends_on)} fails" if act.depends_on else ""
    return f"Undone: {name(row)}, by {act.name}{gated}{rest}."


def _cancel(scene: Scene) -> list[str]:
    lines = ["No new effect starts, and it never goes on."]
    unsent = [
        row
        for row in scene.effects
        if row["state"] in _UNSENT or (row["state"] == "pending" and not row["sends"])
    ]
    if unsent:
        lines.append(f"Withdrawn, never sent: {_things(unsent, 'effect', 'effects')}{_sums(unsent)}.")
        lines += _each(unsent, name)
    open_ones = [row for row in scene.having(UNSETTLED) if row["sends"]]
    lines += _each(open_ones, lambda row: f"Looked up first; it ends only once this is known: {name(row)}.")
    if scene.applied:
        lines.append(
            f"What it did stays done: {_things(scene.applied, 'effect', 'effects')}{_sums(scene.applied)}."
        )
        lines.append("With the box ticked, then, in this order:")
        lines += _way_back(scene)
    return lines


def of_reject(gate: Gate) -> list[str]:
    """What a no at a gate does."""
    effect = gate.effect
    lines = [f"Nothing is sent. Step {effect.step} goes on with your refusal, and may do something else."]
    if effect.amount_minor is not None and effect.undo_of_id is None:
        lines.append(
            f"{words.money(effect.amount_minor, effect.currency)} is given back to the run's budget."
        )
    return lines


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


_RADIUS: dict[str, Callable[[Scene], list[str]]] = {
    "holds": _hold,
    "releases": _release,
    "retries": _retry,
    "skips": _skip,
    "state": _state,
    "forks": _fork,
    "compensations": _compensate,
    "cancellations": _cancel,
}
