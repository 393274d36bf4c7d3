"""Gates alike enough to be decided side by side: small, of one tool, class and currency, nothing odd in them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from django.contrib.auth.models import User

from approvals import access, differences, payload, policy
from approvals.capabilities import Capability
from approvals.models import Gate
from approvals.queries import inbox, words
from approvals.states import GateState
from durable.digest import canonical
from durable.errors import InterlockError, Invalid
from durable.money import exponent
from durable.states import EffectClass

#: Major units of whatever currency: no single one above EACH, nor all chosen ones above TOGETHER; at most MOST at once.
EACH, TOGETHER, MOST = policy.LIMIT * 2, policy.LIMIT * 10, 20


def count(queue: dict[str, Any], gate: Gate) -> int:
    """How many of the queue's page look alike to this gate, itself among them; 0 where it may not be bulk at all."""
    effect = gate.effect
    if not _may_be(gate) or gate.state != GateState.OPEN or gate.round != 1:
        return 0
    limit = EACH * 10 ** exponent(effect.currency)
    found = sum(
        (row["tool"], row["currency"], row["state"], row["round"])
        == (effect.tool, effect.currency, "open", 1)
        and not row["hard"]
        and row["undo"] is None
        and row["minor"] is not None
        and row["minor"] <= limit
        for row in queue["rows"]
    )
    return found if found > 1 else 0


def listing(user: User, gate: Gate) -> list[dict[str, Any]]:
    """The alike gates as rows of gate_alike.html, this one first; each with all that would be sent.

    What has been edited, forked, asked by this person, can't be shown or holds odd characters stays out: such a gate
    is looked at by itself.
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
        .select_related("effect__run__seal_key", "payload")
        .order_by("decide_by", "id")[: 2 * MOST]
    )  # fmt: skip
    own = {user.get_username().casefold(), user.email.casefold()} - {""}
    mine = sorted(found, key=lambda one: one.pk != gate.pk)
    rows = [_row(one) for one in mine if one.effect.run.requester.casefold() not in own]
    return [row for row in rows if row is not None][:MOST]


def check(gates: Sequence[Gate]) -> None:
    """Raise Invalid where these may not be decided together, whatever page they were chosen on."""
    kinds = {(one.effect.tool, one.effect.effect_class, one.effect.currency) for one in gates}
    if len(kinds) > 1 or not all(_may_be(one) for one in gates):
        raise Invalid("gate", "these are not alike: decide about each by itself")
    unit = 10 ** exponent(gates[0].effect.currency)
    amounts = [one.effect.amount_minor or 0 for one in gates]
    if max(amounts) > EACH * unit or sum(amounts) > TOGETHER * unit:
        most = f"{EACH} {gates[0].effect.currency} each and {TOGETHER} in sum"
        raise Invalid("gate", f"together at most {most}; choose fewer")


def total(gates: Iterable[Gate]) -> str:
    """What these move, in words."""
    found = list(gates)
    return words.money(sum(one.effect.amount_minor or 0 for one in found), found[0].effect.currency)


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
