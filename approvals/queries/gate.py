"""One gate: exactly what would be sent, why people are asked, who may answer, and what was answered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib.auth.models import User
from django.db.models import Q

from approvals import differences, moments, opened
from approvals.errors import Difference
from approvals.models import Gate
from approvals.queries import alike, earlier, erasures, events, inbox, news, words
from approvals.queries import answers as given
from approvals.queries import effect as one_effect
from approvals.states import LIVE, GateState
from durable import present, tools
from durable.clock import db_now
from durable.digest import canonical
from durable.errors import InterlockError
from durable.models import Effect, Stop
from durable.states import EffectState, EventKind
from durable.text import quoted

_TALK = frozenset({EventKind.ASKED_BACK, EventKind.EDITED, EventKind.NEW_ROUND, EventKind.REJECTED})
_SENT = "Sent exactly as shown"
#: What the payload's card says once it will not be sent any more; nothing while it may be.
_PAYLOAD_TITLES = {
    GateState.REJECTED: "Rejected, and not sent",
    GateState.EXPIRED: "Expired, and not sent",
    GateState.WITHDRAWN: "Withdrawn, and not sent",
    GateState.SUPERSEDED: "What this round asked about",
}


def detail(
    user: User, gate: Gate, queue: dict[str, Any] | None = None, *, read: bool = False
) -> dict[str, Any]:
    """Everything that gate_detail.html shows but its forms. `gate` comes from `access.get_gate`.

    `queue` is the page of the inbox to show beside it, where that is known. With `read` the facts are read anew.
    """
    effect = gate.effect
    queue = queue or inbox.queue(user, show=gate)
    seen = news.version(queue["version"], news.state_of(gate, queue["now"]))
    recorded = given.decisions(gate)
    return {
        "gate": _gate(gate, effect, late=news.late(gate, queue["now"])),
        "erased": erasures.note(effect.run),
        "stopped": _stopped(effect) if gate.state in LIVE else "",
        **facts(gate, read=read),
        **given.people(gate, recorded),
        "budget": _budget(gate, effect),
        "history": earlier.about_the_same(user, gate),
        "rounds": _rounds(gate, effect),
        "changes": _changes(gate),
        "decision": given.decision(gate, recorded),
        "fate": _fate(gate, effect),
        "queue": queue,
        "now": queue["now"],
        "alike": alike.count(user, queue, gate),
        "base": seen,
        "seen": seen,
        **inbox.position(queue, gate),
    }


def public_payload(gate: Gate) -> tuple[bytes, str]:
    """The payload for the page, secrets masked, and for whom it is, in words.

    The digest stays that of the real values.
    """
    try:
        payload = differences.read_public(gate.payload, gate.effect.run)
    except InterlockError as error:
        return canonical(opened.instead(error)), ""
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


def _gate(gate: Gate, effect: Effect, *, late: bool) -> dict[str, Any]:
    shown, about = public_payload(gate)
    run = effect.run
    return {
        "id": gate.pk,
        "state": "gated" if gate.state == GateState.OPEN else gate.state,
        "title": title(gate),
        "summary": f"{words.sentence(about)} {run.agent} asks at step {effect.step},"
        f" on behalf of {quoted(run.requester)}."
        f" Why people are asked: {gate.reason.rstrip('.')}.".strip(),
        "key": effect.key,
        "round": gate.round,
        "run_id": run.ref,
        "effect_id": effect.key,
        "class_name": effect.effect_class,
        "by_policy": effect.effect_class != "irreversible",
        "vendor": words.vendor(effect.vendor),
        "payload_title": _payload_title(gate, late=late),
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


def _stopped(effect: Effect) -> str:
    """Empty, or the order by which nothing of this leaves: whoever says yes should know that it will wait."""
    agent, tool = effect.run.agent, effect.tool
    ours = Q(scope="all") | Q(scope="agent", name=agent) | Q(scope="tool", name=tool)
    order = Stop.objects.filter(ours, lifted_at=None).order_by("pk").first()
    if order is None:
        return ""
    what = "at all" if order.scope == "all" else f"of {order.scope} {quoted(order.name)}"
    since = f"Nothing {what} leaves since {moments.whole(order.at)}"
    by = f"by order of {quoted(order.actor)}: {quoted(order.reason)}"
    return f"{since}, {by}. What is approved meanwhile waits until an operator lifts the order."


def _payload_title(gate: Gate, *, late: bool) -> str:
    if gate.used_at is not None:
        return _SENT
    return _PAYLOAD_TITLES.get(GateState.EXPIRED if late else GateState(gate.state), "")


_FATES = {
    EffectState.APPLIED: "It happened: the receipt is {receipt}.",
    EffectState.FAILED: "The vendor refused it for good.",
    EffectState.PENDING: "The vendor's answer is not there yet.",
    EffectState.IN_DOUBT: "Nobody can tell yet whether it happened.",
}


def _fate(gate: Gate, effect: Effect) -> str:
    """What came of an approval that was used, in a sentence; empty for all others."""
    if gate.used_at is None or gate.round != effect.round:
        return ""
    return _FATES.get(EffectState(effect.state), "").format(receipt=effect.receipt_id)


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


def facts(gate: Gate, *, read: bool = False) -> dict[str, Any]:
    """The facts as they were read at drafting, and with `read` as they are now, for _facts.html.

    Only a gate that waits, about the effect's present round, has facts that still matter.
    """
    effect = gate.effect
    nothing: dict[str, Any] = {"facts": [], "facts_at": None, "facts_problem": "", "facts_changed": 0}
    nothing["facts_offered"] = False
    if gate.round != effect.round:
        return nothing
    then, live = _drafted(effect), GateState(gate.state) in LIVE
    if not live or not (then or _rechecked(effect)):
        return nothing | {"facts": _side_by_side(then, None)}
    if not read:
        return nothing | {"facts": _side_by_side(then, None), "facts_offered": True}
    try:
        now, problem = present.facts(effect), ""
    except present.Unreadable:
        now, problem = None, "They can't be read now. They are read again before anything is sent."
    shown = _side_by_side(then, now)
    return {
        "facts": shown,
        "facts_at": None if now is None else db_now(),
        "facts_problem": problem,
        "facts_offered": True,
        "facts_changed": sum(fact["changed"] for fact in shown),
    }


def _side_by_side(then: Mapping[str, Any], now: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    names = sorted({*then, *(now or {})})
    return [
        {
            "name": name.replace("_", " "),
            "then": str(then[name]) if name in then else None,
            "now": None if now is None or name not in now else str(now[name]),
            "changed": now is not None and (name not in now or name not in then or now[name] != then[name]),
        }
        for name in names
    ]


def _rechecked(effect: Effect) -> bool:
    """Whether the effect's tool says which facts must still hold."""
    try:
        return effect.undo_of_id is None and tools.get(effect.tool).recheck_function is not None
    except InterlockError:
        return False


def _drafted(effect: Effect) -> dict[str, Any]:
    if effect.facts is None:
        return {}
    try:
        found: dict[str, Any] = opened.read(effect.facts, effect.run)
    except InterlockError:
        return {}
    return found


def _budget(gate: Gate, effect: Effect) -> dict[str, Any] | None:
    if effect.amount_minor is None or effect.undo_of_id is not None:
        return None
    # Read with the gate, so that this costs no query of its own.
    purse: dict[str, int] | None = getattr(gate, "purse", None)
    if purse is None:
        return None
    limit, spent, reserved = purse["limit"], purse["spent"], purse["reserved"]
    left = limit - spent - reserved
    return {
        "spent": spent,
        "reserved": reserved,
        "left": left,
        "limit": limit,
        "currency": effect.currency,
        "words": f"{words.money(left, effect.currency)} left of {words.money(limit, effect.currency)}",
    }
