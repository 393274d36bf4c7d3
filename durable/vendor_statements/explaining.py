"""People's explanations of differences: who, why, for which; each in the log of acts. A difference stays listed."""

from __future__ import annotations

from collections.abc import Sequence

from durable import acts
from durable.beats import committing
from durable.errors import Conflict, Invalid
from durable.models import Difference, Explanation, Unexplained
from durable.runs import check_actor
from durable.states import ActKind

#: So many one explanation may be about: as many as a page shows.
MOST = 50


def explain(statement: int, differences: Sequence[int], *, actor: str, reason: str) -> int:
    """Say why these differences of a statement are none to worry about. Returns how many that were.

    It holds for whatever later statement finds the same again. Raises Invalid without a reason or a difference of this
    statement, Conflict where one needs no explanation any more; then none is explained.
    """
    check_actor(actor, reason)
    if not differences:
        raise Invalid("difference", "tick those that the reason explains")
    if len(differences) > MOST:
        raise Invalid("difference", f"explain at most {MOST} at once")
    with committing("command"):
        found = Difference.objects.filter(pk__in=differences, statement_id=statement).order_by("pk")
        chosen = list(found)
        if len(chosen) < len(set(differences)):
            raise Invalid("difference", "must be one of this statement")
        # Whoever comes second waits here, and then finds nothing to explain.
        open_ones = Unexplained.objects.select_for_update().filter(
            likeness__in=[one.likeness for one in chosen]
        )
        left = {one.likeness for one in open_ones.order_by("difference_id")}
        for one in chosen:
            _check(one, left)
        for one in chosen:
            _explain(one, actor, reason)
        Unexplained.objects.filter(likeness__in=[one.likeness for one in chosen]).delete()
    return len(chosen)


def _check(one: Difference, left: set[str]) -> None:
    if one.likeness in left:
        return
    before = Explanation.objects.filter(likeness=one.likeness).first()
    name = one.receipt or one.effect_key
    if before is not None:
        raise Conflict(f"{name} has been explained by {before.by}")
    raise Conflict(f"a newer statement about the same time says how {name} stands now; explain it there")


def _explain(one: Difference, actor: str, reason: str) -> None:
    Explanation.objects.create(difference=one, likeness=one.likeness, by=actor)
    acts.record(
        ActKind.DIFFERENCE_EXPLAINED,
        actor=actor,
        about=acts.about("statement", one.statement_id),
        concerns=acts.about("difference", one.pk),
        body={"kind": one.kind, "receipt": one.receipt, "effect": one.effect_key},
        before={"explained": False},
        after={"explained": True},
        reason=reason,
    )
