"""Gates alike enough to be decided side by side: small, of one tool, class and currency, nothing odd in them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from django.contrib.auth.models import User
from django.db.models import Case, Exists, OuterRef, Q, When

from approvals import access, differences, payload, policy
from approvals.capabilities import Capability
from approvals.models import Gate
from approvals.queries import inbox, words
from approvals.states import GateState
from durable.digest import canonical
from durable.errors import InterlockError, Invalid
from durable.ledger import gating
from durable.models.fields import Clock
from durable.money import exponent
from durable.states import EffectClass

#: Major units of whatever currency: no single one above EACH, nor all chosen ones above TOGETHER; at most MOST at once.
EACH, TOGETHER, MOST = policy.LIMIT * 2, policy.LIMIT * 10, 20


def count(user: User, queue: dict[str, Any], gate: Gate) -> int:
    """How many of the queue's page look alike to this gate, itself among them; 0 where it is in no such list."""
    effect = gate.effect
    if (
        not _may_be(gate)
        or gate.state != GateState.OPEN
        or gate.round != 1
        or gating.acts_alike(effect.once_per, effect.pk).exists()
        or effect.run.parent_id is not None
    ):
        return 0
    if effect.run.requester.casefold() in _own(user):
        return 0
    limit = EACH * 10 ** exponent(effect.currency)
    found = sum(
        (row["tool"], row["currency"], row["state"], row["round"])
        == (effect.tool, effect.currency, "open", 1)
        and not row["hard"]
        and row["undo"] is None
        and row["minor"] is not None
        and row["minor"] <= limit
        and row["decide_by"] > queue["now"]
        and not row["again"]
        for row in queue["rows"]
    )
    return found if found > 1 and _row(gate) is not None else 0


def listing(user: User, gate: Gate, chosen: Collection[int] = ()) -> list[dict[str, Any]]:
    """The alike gates as rows of gate_alike.html, this one first; each with all that would be sent.

    What may have been done already, has been edited, forked or asked for by this person, can't be shown or holds odd
    characters stays out: such a gate is looked at by itself. Past its deadline one is there only where it was `chosen`
    before that.
    """
    if not _may_be(gate) or not access.may(user, Capability.DECIDE):
        return []
    effect = gate.effect
    limit = EACH * 10 ** exponent(effect.currency)
    found = (
        inbox.live(user)
        .filter(
            state=GateState.OPEN.value, round=1, effect__round=1, effect__tool=effect.tool,
            effect__effect_class=effect.effect_class, effect__currency=effect.currency,
            effect__amount_minor__lte=limit, effect__undo_of=None, effect__run__parent=None,
        )
        .filter(Q(decide_by__gt=Clock()) | Q(pk__in=chosen))
        .exclude(Exists(gating.acts_alike(OuterRef("effect__once_per"), OuterRef("effect_id")).order_by()))
        .select_related("effect__run__seal_key", "payload")
        .order_by(Case(When(pk=gate.pk, then=0), default=1), "decide_by", "id")[: 2 * MOST]
    )  # fmt: skip
    own = _own(user)
    rows = [_row(one) for one in found if one.effect.run.requester.casefold() not in own]
    return [row for row in rows if row is not None][:MOST]


def check(gates: Sequence[Gate]) -> None:
    """Raise Invalid where these may not be decided together, whatever page they were chosen on."""
    kinds = {(one.effect.tool, one.effect.effect_class, one.effect.currency) for one in gates}
    if len(kinds) > 1 or not all(_may_be(one) for one in gates):
        raise Invalid("gate", "these are not alike: decide about each by itself")
    if any(gating.acts_alike(one.effect.once_per, one.effect_id).exists() for one in gates):
        raise Invalid(
            "gate", "one of these may have been done already: decide about it by itself, with a reason"
        )
    unit = 10 ** exponent(gates[0].effect.currency)
    amounts = [one.effect.amount_minor or 0 for one in gates]
    if max(amounts) > EACH * unit or sum(amounts) > TOGETHER * unit:
        raise Invalid("gate", f"together at most {limits(gates[0].effect.currency)}; choose fewer")


def limits(currency: str) -> str:
    """The limits in words: `200 EUR each and 1,000 EUR in sum`."""
    return f"{EACH:,} {currency} each and {TOGETHER:,} {currency} in sum"


def total(gates: Iterable[Gate]) -> str:
    """What these move, in words."""
    found = list(gates)
    return words.money(sum(one.effect.amount_minor or 0 for one in found), found[0].effect.currency)


def _own(user: User) -> set[str]:
    return {user.get_username().casefold(), user.email.casefold()} - {""}


def _may_be(gate: Gate) -> bool:
    effect = gate.effect
    return (
        effect.effect_class != EffectClass.IRREVERSIBLE
        and effect.amount_minor is not None
        and effect.undo_of_id is None
    )


def _row(gate: Gate) -> dict[str, Any] | None:
    effect, run = gate.effect, gate.effect.run
    try:
        args = differences.read_public(gate.payload, run)["args"]
    except InterlockError:
        return None
    shown = payload.read(canonical(args))
    if shown.suspicious or shown.rest or differences.unreadable(gate.payload, gate.digest, run):
        return None
    return {
        "id": gate.pk,
        "token": f"{gate.pk}.{gate.round}.{gate.digest}",
        "title": words.title(effect.tool, effect.amount_minor, effect.currency),
        "minor": effect.amount_minor,
        "currency": effect.currency,
        "key": effect.key,
        "lines": shown.lines,
        "reason": gate.reason,
        "decide_by": gate.decide_by,
        "digest": gate.digest,
    }
