"""What the loser of a race is told: who won, what they decided and when, or what has changed on the screen since."""

from __future__ import annotations

from datetime import datetime

from django.contrib.auth.models import User

from approvals import differences, moments
from approvals.errors import Decided, Expired, Stale
from approvals.models import Decision, Gate
from approvals.states import FINAL_VALUES, LIVE, PAST, GateState, Verdict
from durable.errors import Conflict
from durable.models import Effect


def moment(at: datetime) -> str:
    """Return a moment in words, to the second, with its zone, and its day where that is not today: `12:00:03 UTC`."""
    return moments.exact(at)


def name(person: User) -> str:
    """Return a person's full name, or the name with which they sign in."""
    return person.get_full_name() or person.get_username()


def check_current(gate: Gate, effect: Effect, digest: str, round: int) -> None:
    """Raise Stale unless the screen showed this gate's payload, and the effect still has it."""
    if (digest, round) == (gate.digest, gate.round) == (effect.digest, effect.round):
        return
    raise stale(gate, shown=digest)


def stale(gate: Gate, *, shown: str) -> Stale:
    """Return the refusal for a screen that showed `shown` while another payload stands now, with the difference."""
    rounds = list(
        Gate.objects.filter(effect_id=gate.effect_id)
        .select_related("payload", "effect__run__seal_key")
        .order_by("-round")
    )
    newest = rounds[0]
    seen = next((one for one in rounds if one.digest == shown), None)
    found = differences.between(seen.payload, newest.payload, newest.effect.run) if seen is not None else ()
    what = "Nothing was recorded: what would be sent has changed since your page was made"
    return Stale(f"{what}. It is round {newest.round} now; look at it and decide anew.", newest.pk, found)


#: In which states of the gate what a person has said is still what holds: a yes may have become void since.
_HOLDS = {
    Verdict.APPROVE: {GateState.APPROVED},
    Verdict.REJECT: {GateState.REJECTED},
    Verdict.EDIT: {GateState.SUPERSEDED},
    Verdict.LATE_REFUSAL: {GateState.EXPIRED, *LIVE},
}


def lost(person: User, gate: Gate, verdict: Verdict, over: str = "") -> Conflict:
    """Return the refusal for an answer to a gate that is over, in words that name the winner.

    `over` is why the engine takes no answer any more, for a gate that nobody has closed yet.
    """
    decision = (
        Decision.objects.filter(gate=gate, verdict__in=FINAL_VALUES)
        .exclude(verdict=Verdict.LATE_REFUSAL.value)
        .select_related("person")
        .order_by("-id")
        .first()
    )
    own = Decision.objects.filter(gate=gate, person=person, verdict__in=FINAL_VALUES).first()
    if (
        own is not None
        and own.verdict in (verdict, Verdict.LATE_REFUSAL)
        and gate.state in _HOLDS[Verdict(own.verdict)]
    ):
        return Decided(f"Already {PAST[Verdict(own.verdict)]} by you at {moment(own.at)}.", again=True)
    if gate.state == GateState.SUPERSEDED:
        return stale(gate, shown=gate.digest)
    if decision is not None and gate.state in (GateState.APPROVED, GateState.REJECTED):
        who = "you" if decision.person_id == person.pk else name(decision.person)
        verb = PAST[Verdict(decision.verdict)]
        return Decided(f"Nothing was recorded: it was already {verb} by {who} at {moment(decision.at)}.")
    return Decided(
        f"Nothing was recorded: {over if over and GateState(gate.state) in LIVE else _over(gate)}."
    )


def waits_for_answer(gate: Gate) -> Decided:
    """Return the refusal for a yes while a reviewer's question is open."""
    question = (
        Decision.objects.filter(gate=gate, verdict=Verdict.ASK_BACK.value)
        .select_related("person")
        .order_by("-id")[0]
    )
    return Decided(
        f"Nothing was recorded: {name(question.person)} asked back at {moment(question.at)}, and the answer is not"
        " there yet. It can be rejected meanwhile."
    )


def too_late(gate: Gate) -> Expired:
    """Return the refusal for what comes after decide-by, whether or not the clock has closed the gate already."""
    return Expired(f"Too late: it had to be decided by {moment(gate.decide_by)}. Nothing was recorded.")


def _over(gate: Gate) -> str:
    when = f" at {moment(gate.closed_at)}" if gate.closed_at else ""
    if gate.state == GateState.EXPIRED:
        return f"nobody decided in time, and it expired{when}. It was not executed"
    if gate.state == GateState.WITHDRAWN:
        by = f" by {gate.wait.closed_by}" if gate.wait.closed_by else ""
        return f"it was withdrawn{by}{when}. It was not executed"
    return f"it is {gate.state}{when}"
