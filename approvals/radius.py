"""What an operator's act will do to this run, in sentences, before it is done. Asks the database nothing of its own.

No act runs something other than what is said here: each carries the name of what it was computed from, and the
commands compare it under the run's lock (`durable.standing`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from approvals import outcomes
from approvals.queries import words
from approvals.queries.spend import Spend
from approvals.queries.tally import LISTED, Some, Tally
from approvals.way_back import name, way_back
from durable import plan
from durable.errors import InterlockError
from durable.models import Run
from durable.states import ENDING, REFUSED, UNSETTLED, EffectClass, EffectState, RunState, WaitKind
from durable.text import quoted

Row = Mapping[str, Any]
_APPLIED, _GATED, _APPROVED = [EffectState.APPLIED], [EffectState.GATED], [EffectState.APPROVED]
_PENDING = [EffectState.PENDING]
_UNSENT = (EffectState.GATED, EffectState.APPROVED)


@dataclass(frozen=True, slots=True)
class Scene:
    """A run with all its effects, its newest checkpoints, its open waits, and what a retry of its step would spend."""

    run: Run
    tally: Tally
    checkpoints: Sequence[Row]
    waits: Sequence[Row]
    spend: Spend = field(default_factory=Spend)


def of(noun: str, scene: Scene) -> list[str]:
    """Return the sentences for one act, by its noun in the address."""
    return _RADIUS[noun](scene)


def _each(some: Some, text: Callable[[Row], str]) -> list[str]:
    lines = [text(row) for row in some.rows]
    return [*lines, f"And {some.more:,} more of the kind{sums(some, ' in all')}."] if some.more else lines


def _named(text: str, row: Row) -> str:
    return f"{text}: {name(row)}."


def _things(some: Some, one: str, many: str) -> str:
    return f"1 {one}" if some.count == 1 else f"{some.count:,} {many}"


def sums(some: Some, note: str = "") -> str:
    """Amounts by currency, never added up across them: ` (10.00 EUR, 900 JPY)`; nothing where no money is in them."""
    shown = ", ".join(words.money(minor, currency) for currency, minor in some.sums.items())
    return f" ({shown}{note})" if shown else ""


def _looked_up(row: Row) -> str:
    """What becomes of a request whose fate is unknown: the ledger's protocol, in a sentence."""
    if row["effect_class"] == EffectClass.IDEMPOTENT:
        rest = "found, it is adopted; else repeated under the same key while that is safe"
    else:
        rest = "found, it is adopted; else it stops at a person"
    return f"Looked up first: {name(row)}; {rest}."


def _sent_next(row: Row) -> str:
    """What becomes of an effect that is meant and of which no request is open."""
    if row["sends"]:
        return f"Sent again, nobody is asked: {name(row)}; its last request certainly did nothing."
    return f"Sent next, nobody is asked: {name(row)}."


def _money(scene: Scene, **told: bool) -> list[str]:
    """What may leave, once people and vendor have answered. Its money is reserved: nothing is added by the act."""
    some = scene.tally.some([*_UNSENT, *UNSETTLED], **told)
    shown = sums(some).strip(" ()")
    return [f"Money that may leave by what is open: {shown}; it is reserved already."] if shown else []


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
    gates = scene.tally.some(_GATED)
    if gates:
        lines.append(
            f"{_things(gates, 'gate stays', 'gates stay')} open: an answer counts, and waits for the release."
        )
    lines.append("The budget's deadline and the gates' clocks run on.")
    return lines


def _release(scene: Scene) -> list[str]:
    tally = scene.tally
    lines = _each(tally.some(_APPROVED), lambda row: f"Sent next, approved: {name(row)}.")
    lines += _each(tally.some(_PENDING, unanswered=False), _sent_next)
    lines += _each(tally.some(UNSETTLED, unanswered=True), _looked_up)
    lines += _each(tally.some(_GATED), lambda row: f"Still waits for people: {name(row)}.")
    stays = _stays(scene)
    if not lines and not stays:
        lines = [f"It goes on at step {scene.run.step or 'one'}. Nothing of it is open."]
    return [*stays, *lines, *_money(scene), *_ended_steps(scene)]


def _stays(scene: Scene) -> list[str]:
    """What keeps a run that is released where it is."""
    lines = []
    for wait in scene.waits:
        if wait["kind"] == WaitKind.ATTENTION and wait["effect__key"] is None:
            why = words.stuck(wait).rstrip(". ")
            lines.append(f"It stays stuck: {why}. A retry gets it going.")
        elif wait["kind"] == WaitKind.TIMER and wait["deadline"] is not None:
            lines.append(f"It waits until {outcomes.moment(wait['deadline'])}, as it did.")
        elif wait["kind"] == WaitKind.EVENT:
            lines.append(f"It waits for the event {quoted(str(wait['name']))}, as it did.")
    return lines


def _retry(scene: Scene) -> list[str]:
    if scene.run.state in ENDING:
        return _goes_on_to_end(scene)
    lines = [f"Step {scene.run.step or 'one'} is executed again from its start, under the same keys."]
    on_record = False
    for states, told, text in _ON_RECORD:
        some = scene.tally.some(states, here=True, **told)
        on_record = on_record or bool(some)
        lines += _each(some, partial(_named, text) if isinstance(text, str) else text)
    if not on_record:
        lines.append(
            "Nothing of this step is on record yet: what it asks for is new, and gated where rules say so."
        )
    done = scene.tally.some(_APPLIED, here=False)
    if done:
        lines.append(f"Not touched: {_things(done, 'effect', 'effects')} of other steps{sums(done)}.")
    return [*lines, *_money(scene, here=True), *scene.spend.words(), *_ended_steps(scene)]


def _ended_steps(scene: Scene) -> list[str]:
    """The steps that are not executed again, since a checkpoint says that they have ended."""
    done = scene.checkpoints[0]["progress"] if scene.checkpoints else {}
    return _not_again([step for step in done if step != scene.run.step], "Not executed again")


def _not_again(steps: Sequence[str], text: str) -> list[str]:
    more = f" and {len(steps) - LISTED} more" if len(steps) > LISTED else ""
    return [f"{text}: {', '.join(steps[:LISTED])}{more}."] if steps else []


def _goes_on_to_end(scene: Scene) -> list[str]:
    """A run that is ending never goes forward again: what was left of its end is tried once more."""
    lines = [f"It goes on to its end: {scene.run.state}. No step is executed again."]
    lines += _each(scene.tally.some(UNSETTLED, unanswered=True), _looked_up)
    if scene.run.state == RunState.COMPENSATING or scene.run.undo_after:
        lines += way_back(scene.tally.undoable)
    return lines


#: What a step finds on record when it asks again, and what then becomes of it.
_ON_RECORD: tuple[tuple[Iterable[EffectState], dict[str, bool], str | Callable[[Row], str]], ...] = (
    (_APPLIED, {}, "Answered from the record, not repeated"),
    ([EffectState.FAILED], {}, "Answered with its failure, not repeated"),
    (REFUSED, {}, "Answered with the refusal"),
    (UNSETTLED, {"unanswered": True}, _looked_up),
    (_PENDING, {"unanswered": False}, _sent_next),
    (_APPROVED, {}, "Sent, as approved"),
    (_GATED, {}, "Still asks people"),
)


def _skip(scene: Scene) -> list[str]:
    lines = [
        f"Step {scene.run.step} stays undone. It goes on at {_next(scene.run)}, or at the step that you name."
    ]
    unsent = scene.tally.some([*_UNSENT, *_PENDING], unanswered=False)
    lines += _each(unsent, lambda row: f"Withdrawn, never arrived: {name(row)}.")
    applied = scene.tally.some(_APPLIED, here=True)
    lines += _each(applied, lambda row: f"Stays done: {name(row)}.")
    return lines + _gone_through_again(scene)


def _gone_through_again(scene: Scene) -> list[str]:
    """What a skip to a step that was visited before would do anew: it has other keys, so the record answers nothing."""
    done = scene.tally.some(_APPLIED, undo=False, undone=False)
    if not done:
        return []
    first = "Back at a step that was visited before, it is done again with what follows, under new keys."
    return [first, *_each(done, lambda row: f"Done again there only if people say so: {name(row)}.")]


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
    applied = scene.tally.some(_APPLIED, undo=False)
    if applied:
        lines.append("If it asks for the same at the same place, it gets the receipt that is there:")
        lines += _each(applied, lambda row: f"Not repeated: {name(row)}.")
        lines.append("What it asks for otherwise at such a place goes to people first.")
    lines.append("Where another fork of it has asked for something before, people are asked first.")
    lines.append("Model calls after the checkpoint are made again, and their tokens spent again.")
    lines.append("It draws on what is left of this run's budget; nothing is reset.")
    return lines


def of_fork(scene: Scene, point: Row, tokens: int, replaced: Sequence[str]) -> list[str]:
    """What a fork from one checkpoint does; `tokens` were used since, `replaced` (input, state) is what was changed."""
    lines = [f"It begins at step {point['next']}."]
    if "state" in replaced:
        lines.append("It begins with another working state, as shown above.")
    if "input" in replaced:
        lines.append("Steps from here on see another input, as shown above.")
        lines += _not_again(list(point["progress"]), "Not executed again, so these saw the old input")
    lines += _fork(scene)
    return [*lines, f"Since this checkpoint {tokens:,} tokens were used."] if tokens > 0 else lines


def _compensate(scene: Scene) -> list[str]:
    return way_back(scene.tally.undoable) or [
        "Nothing was applied that is not undone already. It ends as compensated."
    ]


def _cancel(scene: Scene) -> list[str]:
    tally, lines = scene.tally, ["No new effect starts, and it never goes on."]
    unsent = tally.some([*_UNSENT, *_PENDING], unanswered=False)
    if unsent:
        count = _things(unsent, "effect", "effects")
        lines.append(f"Withdrawn, never arrived: {count}{sums(unsent)}.")
        lines += _each(unsent, name)
    open_ones = tally.some([*_UNSENT, *UNSETTLED], unanswered=True)
    lines += _each(open_ones, lambda row: f"Looked up first; it ends only once this is known: {name(row)}.")
    done = tally.undoable
    if done:
        lines.append(f"What it did stays done: {_things(done, 'effect', 'effects')}{sums(done)}.")
        lines.append("With the box ticked, then, in this order:")
        lines += way_back(done)
    return lines


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
