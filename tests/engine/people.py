"""People who answer the gates of the engine's tests, through the console's one rule."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User

from approvals.models import Decision, Gate
from approvals.states import Verdict
from durable.models import Run
from tests import factories
from tests.approvals.answering import answer


def person(name: str = "alice") -> User:
    found = User.objects.filter(username=name).first()
    return found or factories.person(name)


def gates(run: Run) -> list[Gate]:
    """The gates that wait for an answer, oldest first."""
    waiting = Gate.objects.filter(effect__run=run, state__in=("open", "asked back"))
    return list(waiting.select_related("effect__run", "wait").order_by("id"))


def say(run: Run, verdict: Verdict = Verdict.APPROVE, by: str = "alice", **more: Any) -> Decision:
    """Answer the oldest gate of a run; a yes has a reason, as one needs that may be the second of its kind."""
    more.setdefault("words", "as agreed" if verdict is Verdict.APPROVE else "")
    return answer(person(by), gates(run)[0], verdict, **more)
