"""What must never be true, told by the vendor's book and by what people really said. It knows no guard.

`wrong` looks at one world. What it calls the truth is never the ledger under test: the ledger is held against the book.
"""

from __future__ import annotations

from collections import Counter

from proof.model.case import Case
from proof.model.world import APPLIED, DOUBT, ENDED, PENDING, RUNNING, Effect, Run, World, lineage

FUTILE = "though the answer is on record: an error that the vendor has saved under the key"


def wrong(world: World, case: Case) -> str:
    """Say in one sentence what is wrong with a world, or nothing."""
    if any(run.back for run in world.runs):
        return "the run's progress went back: a step that was done is to be done again"
    if any(request.stamp == FUTILE for request in world.wire):
        return f"a request is repeated {FUTILE}"
    if not world.book:
        return ""
    return (
        _twice(world, case)
        or _let_out(world, case)
        or _money(world, case)
        or _undone(world)
        or _misrecorded(world)
        or _silently(world)
    )


def stamp(run: Run, effect: Effect) -> str:
    """What is wrong with letting a request out now, as the bare facts have it. The request carries it to the book."""
    if run.held:
        return "though the run was held"
    if run.state != RUNNING and not effect.undo:
        return f"though the run was {run.state}"
    if effect.over and effect.gate == "approved":
        return "though the yes had not been used in time"
    if effect.revoked:
        return "though who had said yes may no longer decide"
    if effect.saved:
        return FUTILE
    return ""


def _twice(world: World, case: Case) -> str:
    counts = Counter(lineage(movement.key) for movement in world.book)
    for act, count in counts.items():
        if count > 1:
            return f"{act} has happened {count} times"
    if case.once or len(world.runs) > len(case.plans):
        return _same_act(world)
    return ""


def _same_act(world: World) -> str:
    """Two runs, one business act: the second needs somebody who said yes to it, knowing of the first."""
    acts: dict[tuple[str, int], list[str]] = {}
    for movement in world.book:
        place = lineage(movement.key).split(":", 1)[1]
        if ":undo" in movement.key:
            acts[place.removesuffix(":undo"), movement.body].pop()
        else:
            acts.setdefault((place, movement.body), []).append(movement.key)
    for keys in acts.values():
        if len(keys) > 1 and sum(not _agreed(world, key) for key in keys) > 1:
            return f"{' and '.join(keys)} are the same act, and nobody who knew of the first said yes to the second"
    return ""


def _agreed(world: World, key: str) -> bool:
    return any(said.key == key and said.verdict == "approve" and not said.blind for said in world.said)


def _let_out(world: World, case: Case) -> str:
    for movement in world.book:
        if movement.stamp:
            return f"{movement.key} moved {movement.body} {movement.stamp}"
        place = lineage(movement.key).split(":", 1)[1]
        if place in case.gated or "~" in movement.key or _strays(world, movement.key, movement.body):
            why = _not_approved(world, movement.key, movement.body)
            if why:
                return why
    return ""


def _strays(world: World, key: str, body: int) -> bool:
    """Whether a fork acts at a place where its parent has done something else."""
    if not key.startswith("run-2:") or "undo" in key:
        return False
    kin = "run-1" + lineage(key).removeprefix("run-2")
    return any(one.body != body and one.key == kin for one in world.book) and world.runs[1].fork


def _not_approved(world: World, key: str, body: int) -> str:
    heard = [said for said in world.said if said.key == key and said.body == body]
    if body == 99:
        return ""  # the vendor's own mistake; see _misrecorded
    yes = [said for said in heard if said.verdict == "approve"]
    if not yes:
        return f"{key} moved {body}, and nobody has said yes to that"
    for said in yes:
        if said.late:
            return f"{key} moved {body} on a yes that came after the time to decide"
        if said.own:
            return f"{key} moved {body} on the yes of {said.who}, whose own edit it is"
        if any(no.verdict == "reject" and no.round == said.round for no in heard):
            return f"{key} moved {body}, to which somebody had said no"
    return ""


def _money(world: World, case: Case) -> str:
    moved = sum(movement.body for movement in world.book if ":undo" not in movement.key)
    if case.limit is not None and moved > case.limit:
        return f"{moved} was moved from a purse of {case.limit}"
    return ""


def _undone(world: World) -> str:
    """Held against the book alone: an undo follows what it undoes, and the last act is undone first."""
    done: list[str] = []
    undone: dict[str, str] = {}
    for movement in world.book:
        act = lineage(movement.key)
        if not act.endswith(":undo"):
            done.append(act)
            continue
        act = act.removesuffix(":undo")
        run = act.split(":")[0]
        if act not in done:
            return f"{act} was undone, and had never happened"
        earlier = undone.get(run, act)
        if done.index(earlier) < done.index(act):
            return f"{earlier} was undone before {act}, which had happened after it"
        undone[run] = act
    return ""


def _misrecorded(world: World) -> str:
    taken: set[int] = set()
    for effect in world.effects:
        if effect.state != APPLIED:
            continue
        movement = world.book[effect.receipt]
        if lineage(movement.key) != lineage(effect.key) or effect.receipt in taken:
            return f"{effect.key} is applied by the receipt of {movement.key}: it has not happened itself"
        if movement.body != effect.body:
            return f"the ledger says {effect.key} moved {effect.body}, and the vendor moved {movement.body}"
        taken.add(effect.receipt)
    return ""


def _silently(world: World) -> str:
    """Something happened that the ledger calls settled otherwise, or that its run has ended without knowing."""
    for effect in world.effects:
        if effect.state in (APPLIED, "gated", "approved") or not _moved(world, effect.key):
            continue
        if effect.state not in (PENDING, DOUBT):
            return f"{effect.key} has happened, and the ledger says that it was {effect.state}"
        if world.runs[effect.run].state in ENDED:
            return f"{effect.key} has happened, and its run had ended before that was known"
    return ""


def _moved(world: World, key: str) -> bool:
    return any(movement.key == key for movement in world.book)
