"""Who may say what became of an effect in doubt: alone, second, or to turn a run back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib.auth.models import User

from approvals.access import actor, may
from approvals.capabilities import PERMISSIONS, Capability
from approvals.errors import Refused
from durable import doubts
from durable.doubts import Said

_EXACTLY = "you may agree with exactly what was proposed, {}; anything else takes the right to settle effects"


def why_no_verdict(person: User, proposed: Mapping[str, Any] | None, verdict: str = "") -> str | None:
    """Return why this person may not say what became of an effect in doubt, or None where they may.

    Who may settle effects may say anything. Who decides at gates may be the second person, and then says what was
    `proposed`, or nothing. Nobody agrees with themselves; the same word with another receipt is another verdict.
    An undo ends the run as well: it takes the right to steer runs, of whoever says it first.
    """
    own = proposed is not None and proposed["by"] == actor(person)
    if own and proposed is not None and verdict == proposed["verdict"] and not proposed.get("receipt"):
        return "you have proposed this yourself; another person must agree"
    if verdict == doubts.UNDO and not _may_turn_back(person, proposed):
        return f"an undo ends the run too, which takes the right to {dict(PERMISSIONS)[Capability.STEER_RUNS.value]}"
    if may(person, Capability.SETTLE):
        return None
    if own or proposed is None or not may(person, Capability.DECIDE):
        return "your role does not include the right to settle an effect"
    if verdict and verdict != proposed["verdict"]:
        return "you may agree with what was proposed; to say anything else takes the right to settle effects"
    return None


def _may_turn_back(person: User, proposed: Mapping[str, Any] | None) -> bool:
    """Whether a run may be undone on this person's word, or on theirs who proposed that, and whom this one joins."""
    if may(person, Capability.STEER_RUNS):
        return True
    if proposed is None or proposed["verdict"] != doubts.UNDO or proposed["by"] == actor(person):
        return False
    first = User.objects.filter(username=proposed["by"]).first()
    return first is not None and may(first, Capability.STEER_RUNS)


def check_verdict(person: User, proposed: Mapping[str, Any] | None, said: Said) -> None:
    """Raise Refused where this person may not say this. For under the locks: their rights are read anew.

    Who may not settle effects says exactly what was proposed: the word, the receipt and the amount.
    """
    now = User.objects.get(pk=person.pk)
    reason = why_no_verdict(now, proposed)
    if reason is None and proposed is not None and not may(now, Capability.SETTLE):
        reason = None if doubts.same(proposed, said) else _EXACTLY.format(_proposed(proposed))
    if reason is None and said.verdict == doubts.UNDO and not _may_turn_back(now, proposed):
        reason = why_no_verdict(now, proposed, said.verdict)
    if reason is not None:
        raise Refused(f"Nothing was recorded: {reason}.")


def _proposed(proposed: Mapping[str, Any]) -> str:
    return ", ".join(str(proposed[name]) for name in ("verdict", "receipt", "amount") if name in proposed)
