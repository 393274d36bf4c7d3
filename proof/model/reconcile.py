"""What a look-up means for a pending effect: adopt, send again under the same key, look again, or ask a person."""

from __future__ import annotations

from collections.abc import Iterator

from proof.model.case import Case
from proof.model.guards import Guard
from proof.model.ledger import who
from proof.model.vendor import look_up
from proof.model.world import MEANS, OLD, QUIET, Effect, Move, World


def key_is_good(case: Case, effect: Effect) -> bool:
    """Whether the same key may be sent again: the vendor honours it, it is young, and no error is saved under it."""
    honoured = case.vendor.keyed or case.off is Guard.KEY_HONOURED
    young = effect.age != OLD or case.off is Guard.HALF_LIFE
    return honoured and young and (not effect.saved or case.off is Guard.SAVED_ERROR)


def reconcile(world: World, case: Case, number: int, effect: Effect, *, may_send: bool) -> Iterator[Move]:
    """Look an effect up, and decide by what the vendor says. Nothing is written yet."""
    name = who(world.workers[number], number)
    for said, receipt in look_up(world, case, effect):
        means = _judge(case, effect, said, may_send=may_send)
        if means is None:
            continue  # too early for a miss to mean anything: it looks again later
        meant = world.workers[number]._replace(
            beat=MEANS,
            means=means,
            key=effect.key,
            place=effect.place,
            undo=effect.undo,
            body=effect.body,
            receipt=receipt,
        )
        yield f"{name} looks {effect.key} up: {said}", world.with_worker(number, meant)


def _judge(case: Case, effect: Effect, said: str, *, may_send: bool) -> str | None:
    if said == "found":
        return "adopt"
    if said == "several":
        return "doubt"
    if may_send and key_is_good(case, effect):
        return "release"
    if said != "no look-up" and effect.phase < QUIET:
        return None
    return "doubt"
