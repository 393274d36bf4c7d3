"""One gate: exactly what would be sent, why people are asked, who may answer, and what was answered."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User

from approvals import access, differences, outcomes
from approvals.models import Decision, Gate
from approvals.queries import inbox, words
from approvals.states import FINAL_VALUES, LIVE, PAST, GateState, Verdict
from durable import vault
from durable.clock import db_now
from durable.digest import canonical
from durable.errors import InterlockError
from durable.models import Effect, Purse, Subject

_ERASED = canonical("The personal data of this run has been erased.")


def detail(user: User, gate: Gate) -> dict[str, Any]:
    """Everything that gate_detail.html shows but its forms. `gate` comes from `access.get_gate`."""
    effect = gate.effect
    queue = inbox.queue(user)
    return {
        "gate": _gate(gate, effect),
        "facts": _facts(effect) if gate.round == effect.round else [],
        **_people(gate),
        "budget": _budget(effect),
        "history": _history(effect),
        "decision": _decision(gate),
        "sent": gate.used_at is not None,
        "queue": queue,
        "now": db_now(),
        **_position(queue, gate.pk),
    }


def public_payload(gate: Gate) -> tuple[bytes, str]:
    """The payload for the page, secrets masked, and whom it is about. The digest stays that of the real values."""
    try:
        payload = differences.read_public(gate.payload)
    except InterlockError:
        return _ERASED, ""
    return canonical(payload), words.subject(payload["args"])


def title(gate: Gate) -> str:
    """What a gate's effect does, in a few words: `Refund 184.50 EUR`."""
    effect = gate.effect
    return words.title(effect.tool, effect.amount_minor, effect.currency, undo=effect.undo_of_id is not None)


def sum_of(gate: Gate) -> str:
    """The amount that a gate lets out, for its button; empty where no money moves."""
    effect = gate.effect
    return "" if effect.amount_minor is None else words.money(effect.amount_minor, effect.currency)


def _gate(gate: Gate, effect: Effect) -> dict[str, Any]:
    shown, about = public_payload(gate)
    run = effect.run
    return {
        "id": gate.pk,
        "state": gate.state,
        "title": title(gate),
        "summary": f"{run.agent} asks at step {effect.step}{f' for {about}' if about else ''},"
        f" on behalf of {run.requester}."
        f" People are asked because: {gate.reason}.",
        "key": effect.key,
        "round": gate.round,
        "run_id": run.ref,
        "effect_id": effect.key,
        "class_name": effect.effect_class,
        "by_policy": effect.effect_class != "irreversible",
        "vendor": effect.vendor,
        "agent": run.agent,
        "canonical": shown,
        "digest": gate.digest,
        "words": _said(effect),
        "drafted_at": gate.opened_at,
        "decide_by": gate.decide_by,
        "act_by": gate.act_by,
        "act_within": gate.act_within,
    }


def _said(effect: Effect) -> str:
    """What the agent said in the step that asks; unproven, and gone where it was erased."""
    try:
        return "" if effect.said is None else str(vault.read(effect.said))
    except InterlockError:
        return ""


def _facts(effect: Effect) -> list[dict[str, Any]]:
    """The facts as they were read at drafting. Just before the effect is let out they are read again."""
    if effect.facts is None:
        return []
    try:
        found = vault.read(effect.facts)
    except InterlockError:
        return []
    return [{"name": name, "then": str(value)} for name, value in sorted(found.items())]


def _people(gate: Gate) -> dict[str, Any]:
    given = [d for d in _decisions(gate) if d.verdict == Verdict.APPROVE]
    people = [
        {
            "name": outcomes.name(d.person),
            "note": f"{PAST[Verdict(d.verdict)]} at {outcomes.moment(d.at)}",
            "state": _look(d),
        }
        for d in _decisions(gate)
    ]
    who = "person" if gate.needed == 1 else "people"
    rule = f"{gate.needed} {who}, but neither who asked for the run nor who edited it."
    if GateState(gate.state) in LIVE:
        able = access.eligible(gate)
        answered = {d.person_id for d in given}
        people += [
            {"name": outcomes.name(p), "note": "may answer", "state": "open"}
            for p in able
            if p.pk not in answered
        ]
        if not able:
            rule = "No eligible reviewer: nobody may decide here besides who asked or edited. An admin must name one."
    return {"people": people, "given": len(given), "needed": gate.needed, "rule": rule}


def _look(decision: Decision) -> str:
    """The word whose icon stands beside a person's answer."""
    return {"approve": "approved", "reject": "rejected", "ask back": "asked back", "edit": "edited"}.get(
        decision.verdict, "rejected"
    )


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
    rows = others.order_by("-id").values("key", "state", "amount_minor", "currency", "recorded_at")[:5]
    return {
        "title": "Earlier about the same",
        "rows": [
            {
                "effect_id": row["key"],
                "key": row["key"],
                "state": row["state"],
                "minor": row["amount_minor"],
                "currency": row["currency"],
                "at": row["recorded_at"],
            }
            for row in rows
        ],
        "words": "",
    }


def _decisions(gate: Gate) -> list[Decision]:
    return list(gate.decisions.select_related("person", "sealed__run").order_by("id"))


def _decision(gate: Gate) -> dict[str, Any] | None:
    """How the gate ended, for the banner; None while it takes an answer."""
    if GateState(gate.state) in LIVE:
        return None
    final = [d for d in _decisions(gate) if d.verdict in FINAL_VALUES and d.verdict != Verdict.LATE_REFUSAL]
    if not final:
        who = "the clock" if gate.state == GateState.EXPIRED else gate.wait.closed_by or "the engine"
        verb = gate.state.capitalize()
        return {
            "who": who,
            "verb": verb,
            "at": gate.closed_at,
            "reason": "",
            "round": gate.round,
            "state": gate.state,
            "used": "It was not executed."
            if gate.state != GateState.SUPERSEDED
            else "A newer round stands now.",
        }
    last = final[-1]
    return {
        "who": outcomes.name(last.person),
        "verb": PAST[Verdict(last.verdict)].capitalize(),
        "at": last.at,
        "reason": said(last),
        "round": gate.round,
        "used": _used(gate, last),
        "state": gate.state,
    }


def said(decision: Decision) -> str:
    """A person's words, or that they are erased."""
    try:
        return str(vault.read(decision.sealed)["words"])
    except InterlockError:
        return "(erased)"


def _used(gate: Gate, last: Decision) -> str:
    if last.verdict == Verdict.EDIT:
        return "The edited payload is asked about in the next round."
    if last.verdict != Verdict.APPROVE:
        return "It was not executed."
    if gate.used_at is not None:
        return f"The approval was used at {outcomes.moment(gate.used_at)}."
    if gate.state == GateState.APPROVED:
        return "Approved, waiting to resume."
    return {
        GateState.SUPERSEDED: "Not used: the proposal changed.",
        GateState.EXPIRED: "Not used in time.",
        GateState.WITHDRAWN: "Not used: it was withdrawn.",
    }.get(GateState(gate.state), "Not used.")


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
