"""One gate: exactly what would be sent, why people are asked, who may answer, and what was answered."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User

from approvals import differences, opened
from approvals.errors import Difference
from approvals.models import Gate
from approvals.queries import answers as given
from approvals.queries import effect as one_effect
from approvals.queries import events, inbox, words
from approvals.states import GateState
from durable import tools
from durable.digest import canonical
from durable.errors import InterlockError
from durable.models import Effect, Purse, Subject
from durable.states import EventKind

_TALK = frozenset({EventKind.ASKED_BACK, EventKind.EDITED, EventKind.NEW_ROUND, EventKind.REJECTED})
_SENT = "Sent exactly as shown"
#: What the payload's card says once it will not be sent any more; nothing while it may be.
_PAYLOAD_TITLES = {
    GateState.REJECTED: "Rejected, and not sent",
    GateState.EXPIRED: "Expired, and not sent",
    GateState.WITHDRAWN: "Withdrawn, and not sent",
    GateState.SUPERSEDED: "What this round asked about",
}
_ERASED = canonical("The personal data of this run has been erased.")


def detail(user: User, gate: Gate) -> dict[str, Any]:
    """Everything that gate_detail.html shows but its forms. `gate` comes from `access.get_gate`."""
    effect = gate.effect
    queue = inbox.queue(user)
    recorded = given.decisions(gate)
    return {
        "gate": _gate(gate, effect),
        "facts": _facts(effect) if gate.round == effect.round else [],
        **given.people(gate, recorded),
        "budget": _budget(effect),
        "history": _history(effect),
        "rounds": _rounds(gate, effect),
        "changes": _changes(gate),
        "decision": given.decision(gate, recorded),
        "sent": gate.used_at is not None,
        "queue": queue,
        "now": queue["now"],
        **_position(queue, gate.pk),
    }


def public_payload(gate: Gate) -> tuple[bytes, str]:
    """The payload for the page, secrets masked, and for whom it is, in words.

    The digest stays that of the real values.
    """
    try:
        payload = differences.read_public(gate.payload, gate.effect.run)
    except InterlockError:
        return _ERASED, ""
    return canonical(payload), words.about(payload["args"])


def title(gate: Gate) -> str:
    """What a gate's effect does, in a few words: `Refund 184.50 EUR`."""
    effect = gate.effect
    minor, currency = _sum(gate)
    return words.title(effect.tool, minor, currency, undo=effect.undo_of_id is not None)


def approval_of(gate: Gate) -> str:
    """What the button says that is approved: the amount, or the act where no money moves."""
    minor, currency = _sum(gate)
    return words.money(minor, currency) if minor is not None else f": {words.act(gate.effect.tool).lower()}"


def _sum(gate: Gate) -> tuple[int | None, str]:
    """The amount of the gate's own round, in minor units: the effect itself may be rounds ahead."""
    effect = gate.effect
    if gate.digest == effect.digest:
        return effect.amount_minor, effect.currency
    try:
        payload = opened.read(gate.payload, gate.effect.run)
        proposal = tools.get(payload["tool"]).proposal(payload["args"])
    except InterlockError:
        return None, ""
    return proposal.amount_minor, proposal.currency or ""


def _gate(gate: Gate, effect: Effect) -> dict[str, Any]:
    shown, about = public_payload(gate)
    run = effect.run
    return {
        "id": gate.pk,
        "state": "gated" if gate.state == GateState.OPEN else gate.state,
        "title": title(gate),
        "summary": f"{run.agent} asks at step {effect.step}{about}, on behalf of {run.requester}."
        f" People are asked because: {gate.reason.rstrip('.')}.",
        "key": effect.key,
        "round": gate.round,
        "run_id": run.ref,
        "effect_id": effect.key,
        "class_name": effect.effect_class,
        "by_policy": effect.effect_class != "irreversible",
        "vendor": words.vendor(effect.vendor),
        "payload_title": _PAYLOAD_TITLES.get(GateState(gate.state), "") if gate.used_at is None else _SENT,
        "agent": run.agent,
        "canonical": shown,
        "digest": gate.digest,
        "words": one_effect.said(effect),
        "drafted_at": gate.opened_at,
        "deadline": run.budget.deadline,
        "decide_by": gate.decide_by,
        "act_by": gate.act_by,
        "act_within": gate.act_within,
    }


def _rounds(gate: Gate, effect: Effect) -> list[dict[str, Any]]:
    """What people asked and answered about this effect, and why there were new rounds; oldest first."""
    if gate.round == 1 and effect.round == 1 and gate.state != GateState.ASKED_BACK:
        return []
    found = events.listing(effect.run, effect.key)["log"]
    return [entry for entry in reversed(found) if entry["kind"] in _TALK]


def _changes(gate: Gate) -> tuple[Difference, ...]:
    """What differs from what the round before asked about: an edit, or another ask of the step."""
    if gate.round == 1:
        return ()
    before = Gate.objects.filter(effect_id=gate.effect_id, round__lt=gate.round).select_related("payload")
    last = before.order_by("-round").first()
    return (
        ()
        if last is None or last.digest == gate.digest
        else differences.between(last.payload, gate.payload, gate.effect.run)
    )


def _facts(effect: Effect) -> list[dict[str, Any]]:
    """The facts as they were read at drafting. Just before the effect is let out they are read again."""
    if effect.facts is None:
        return []
    try:
        found = opened.read(effect.facts, effect.run)
    except InterlockError:
        return []
    return [{"name": name, "then": str(value)} for name, value in sorted(found.items())]


def _budget(effect: Effect) -> dict[str, Any] | None:
    if effect.amount_minor is None or effect.undo_of_id is not None:
        return None
    purse = Purse.objects.filter(budget_id=effect.run.budget_id, currency=effect.currency).first()
    if purse is None:
        return None
    left = purse.limit_minor - purse.spent_minor - purse.reserved_minor
    return {
        "spent": purse.spent_minor,
        "reserved": purse.reserved_minor,
        "left": left,
        "limit": purse.limit_minor,
        "currency": purse.currency,
        "words": f"{words.money(left, purse.currency)} left of {words.money(purse.limit_minor, purse.currency)}",
    }


def _history(effect: Effect) -> dict[str, Any] | None:
    """Other effects about the same order or customer, in any run: found by keyed hash, never by name."""
    hashes = list(Subject.objects.filter(effect=effect).values_list("hash", flat=True))
    if not hashes:
        return None
    others = Effect.objects.filter(
        pk__in=Subject.objects.filter(hash__in=hashes).values("effect_id")
    ).exclude(pk=effect.pk)
    rows = others.order_by("-id").values(
        "key", "state", "tool", "amount_minor", "currency", "recorded_at", "undo_of_id"
    )[:5]
    return {
        "title": "Earlier about the same",
        "rows": [
            {
                "effect_id": row["key"],
                "key": row["key"],
                "state": row["state"],
                "title": words.title(
                    row["tool"],
                    row["amount_minor"],
                    row["currency"],
                    undo=row["undo_of_id"] is not None,
                ),
                "at": row["recorded_at"],
            }
            for row in rows
        ],
        "words": "",
    }


def _position(queue: dict[str, Any], gate_id: int) -> dict[str, Any]:
    ids: list[int] = queue["ids"]
    if gate_id not in ids:
        return {"position": "", "previous_id": None, "next_id": None}
    at = ids.index(gate_id)
    return {
        "position": f"{at + 1} of {queue['total']}",
        "previous_id": ids[at - 1] if at else None,
        "next_id": ids[at + 1] if at + 1 < len(ids) else None,
    }
