"""Who must answer at a gate, who has, and how it ended."""

from __future__ import annotations

from typing import Any

from approvals import access, opened, outcomes
from approvals.models import Decision, Gate
from approvals.queries import actors
from approvals.states import FINAL_VALUES, LIVE, PAST, GateState, Verdict
from durable.errors import InterlockError
from durable.models import Run


def people(gate: Gate, decisions: list[Decision]) -> dict[str, Any]:
    """Who has answered, who may, how many must, and the rule in a sentence."""
    given = [d for d in decisions if d.verdict == Verdict.APPROVE]
    shown = [
        {
            "name": outcomes.name(d.person),
            "note": f"{PAST[Verdict(d.verdict)]} at {outcomes.moment(d.at)}",
            "state": _look(d),
        }
        for d in decisions
    ]
    who = "person" if gate.needed == 1 else "people"
    rule = f"{gate.needed} {who} must say yes, but neither who asked for the run nor who edited it."
    if GateState(gate.state) in LIVE:
        able = access.eligible(gate)
        spoken = {d.person_id for d in decisions}
        note = "may answer the next round" if gate.state == GateState.ASKED_BACK else "may answer"
        shown += [
            {"name": outcomes.name(p), "note": note, "state": "open"} for p in able if p.pk not in spoken
        ]
        if not able:
            rule = "No eligible reviewer: nobody may decide here besides who asked or edited. An admin must name one."
    return {"people": shown, "given": len(given), "needed": gate.needed, "rule": rule}


def _look(decision: Decision) -> str:
    """The word whose icon stands beside a person's answer."""
    return {"approve": "approved", "reject": "rejected", "ask back": "asked back", "edit": "edited"}.get(
        decision.verdict, "rejected"
    )


def decisions(gate: Gate) -> list[Decision]:
    """The recorded answers to a gate, in their order."""
    return list(gate.decisions.select_related("person", "sealed").order_by("id"))


def decision(gate: Gate, recorded: list[Decision]) -> dict[str, Any] | None:
    """How the gate ended, for the banner; None while it takes an answer."""
    if GateState(gate.state) in LIVE:
        return None
    final = [d for d in recorded if d.verdict in FINAL_VALUES and d.verdict != Verdict.LATE_REFUSAL]
    if not final:
        by = gate.wait.closed_by
        expired = gate.state == GateState.EXPIRED
        who = "" if expired or not by else actors.names([by])[by]
        verb = "Nobody decided in time: it expired" if expired else gate.state.capitalize()
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
        "reason": said(last, gate.effect.run),
        "round": gate.round,
        "used": _used(gate, last),
        "state": gate.state,
    }


def said(decision: Decision, run: Run) -> str:
    """A person's words, or why nobody can read them."""
    try:
        return str(opened.read(decision.sealed, run)["words"])
    except InterlockError as error:
        return opened.instead(error)


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
