"""What an open page is told without being asked: gates that arrived or went, and what became of the one it shows."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.models import User

from approvals import access
from approvals.models import Gate
from approvals.queries import answers, inbox
from approvals.states import LIVE, GateState
from durable.errors import NotFound
from durable.models.fields import Clock

#: The word for an open gate whose time to decide is over: nobody may answer it, though nothing has closed it yet.
OVER = "over"


@dataclass(frozen=True, slots=True)
class Seen:
    """How the queue stood, and the open gate with it, when a page was made."""

    newest: int
    total: int
    asked: int
    state: str

    @classmethod
    def read(cls, text: str) -> Seen | None:
        """Return what `version` wrote; None for nonsense."""
        parts = text.split("-", 3)
        if len(parts) not in (3, 4) or not all(part.isascii() and part.isdigit() for part in parts[:3]):
            return None
        newest, total, asked = (int(part[:18]) for part in parts[:3])
        return cls(newest, total, asked, parts[3] if len(parts) == 4 else "")


def version(stands: str, state: str) -> str:
    """Return the version of a page that shows the queue (`inbox.version`) and a gate in this state, or no gate."""
    return f"{stands}-{state}" if state else stands


def now(user: User, gate_id: int | None = None) -> tuple[str, timedelta | None]:
    """The version of a page as it would be made now, and how long the clock leaves it so: one query for the queue, one
    for the gate.

    Raises NotFound for a gate that is not there or not theirs.
    """
    state, left = ("", None) if gate_id is None else _state(user, gate_id)
    return version(inbox.version(inbox.standing(user)), state), left


def told(user: User, base: str, current: str, gate: Gate | None = None) -> dict[str, Any]:
    """What has changed from the page's version to the current one, for _news.html and _gate_over.html."""
    was, is_now = Seen.read(base), Seen.read(current)
    if was is None or is_now is None:
        return {"news": "", "over": None, "base": current, "seen": current}
    news = _queue(user, was, is_now)
    return {
        "news": news,
        "one": news.startswith("1 ") and "," not in news,
        "over": None if gate is None or was.state == is_now.state else _over(gate, is_now.state),
        "base": base,
        "seen": current,
    }


def state_of(gate: Gate, clock: datetime) -> str:
    """The word for where a gate stands at this moment of the database's clock, without spaces."""
    if gate.used_at is not None:
        return "used"
    return OVER if late(gate, clock) else gate.state.replace(" ", "_")


def late(gate: Gate, clock: datetime) -> bool:
    """Whether a gate still waits although its time to decide is over: the sweeper closes it in a moment."""
    return GateState(gate.state) in LIVE and clock > gate.decide_by


def _state(user: User, gate_id: int) -> tuple[str, timedelta | None]:
    found = access.gates(user).filter(pk=gate_id).annotate(clock=Clock())
    gate = found.only("state", "decide_by", "used_at").first()
    if gate is None:
        raise NotFound("no such gate")
    waits = GateState(gate.state) in LIVE and gate.clock <= gate.decide_by
    return state_of(gate, gate.clock), gate.decide_by - gate.clock if waits else None


def _queue(user: User, was: Seen, now: Seen) -> str:
    """What arrived and what is gone, in a few words."""
    arrived = inbox.live(user).filter(pk__gt=was.newest).count() if now.newest > was.newest else 0
    gone = was.total + arrived - now.total
    parts = [f"{arrived} new" if arrived else "", f"{gone} answered or over" if gone > 0 else ""]
    words = ", ".join(part for part in parts if part)
    return words or ("a question was asked or answered" if was.asked != now.asked else "")


def _over(gate: Gate, state: str) -> dict[str, Any]:
    """Why the open page takes no answer any more: who answered and how, or that its time is over."""
    ended = answers.decision(gate, answers.decisions(gate))
    if ended is not None:
        who = f" by {ended['who']}" if ended["who"] else ""
        return {
            "words": f"{ended['verb']}{who}",
            "at": ended["at"],
            "used": ended["used"],
            "state": gate.state,
        }
    if state == OVER:
        return {
            "words": "Too late to decide",
            "at": gate.decide_by,
            "used": "It was not executed.",
            "state": "expired",
        }
    words = "Somebody has asked back" if gate.state == GateState.ASKED_BACK else f"It is {gate.state} now"
    return {"words": words, "at": None, "used": "", "state": gate.state}
