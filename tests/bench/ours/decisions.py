"""A reviewer's yes through the console's door, and the run that goes on in a Celery worker."""

from __future__ import annotations

from django.contrib.auth.models import Group, User

from approvals import decisions
from approvals.capabilities import REVIEWER
from approvals.decisions import Answer, Circumstances
from approvals.models import Gate
from approvals.states import Verdict
from durable.models import Run
from durable.states import RunState
from tests.bench import hops, kit
from tests.bench.bell import Bell
from tests.bench.ours import engine

_FROM = Circumstances("127.0.0.1", "bench", "session")


def measure() -> kit.Figures:
    """Milliseconds from the decision to the step's code running again, and to the approved act being let out."""
    bell, person = Bell(), User.objects.create_user("reviewer")
    person.groups.add(Group.objects.get(name=REVIEWER))
    with engine.worker(hops.CHILDREN) as on:
        waiting = [
            engine.start("bench gated", 1, port=bell.port, word=str(number)) for number in range(hops.SINGLE)
        ]
        for number in range(hops.SINGLE):
            bell.heard(str(number))
        engine.settle(on, waiting, RunState.SUSPENDED)
        taken = [_decide(person, run, bell) for run in waiting]
        engine.settle(on, waiting)
    steps, acts = zip(*taken, strict=True)
    return hops.spread("to the step", steps) | hops.spread("to the act", acts)


def _decide(person: User, run: Run, bell: Bell) -> tuple[float, float]:
    gate = Gate.objects.get(effect__run=run)
    answer = Answer(Verdict.APPROVE, gate.digest, gate.round)
    word = run.input["word"]
    begin = kit.now()
    decisions.decide(person, gate.pk, answer, _FROM)
    return bell.heard(word) - begin, bell.heard(f"{word}-out") - begin
