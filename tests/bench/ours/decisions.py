"""A reviewer's yes, and the run that goes on in a Celery worker: through the console's door, then through its pages."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.contrib.auth.models import Group, User
from django.urls import reverse

from approvals import decisions
from approvals.capabilities import REVIEWER
from approvals.decisions import Answer, Circumstances
from approvals.models import Gate
from approvals.states import Verdict
from durable.models import Run
from durable.states import RunState
from local import parts
from local.browser import Browser
from local.process import free_port, wait_for
from proof.stage import Stage
from tests.bench import hops, kit
from tests.bench.bell import Bell
from tests.bench.ours import engine

_FROM = Circumstances("127.0.0.1", "bench", "session")
_NAME, _PASSWORD = "reviewer", "long enough for a benchmark"


def measure() -> kit.Figures:
    """Milliseconds from the yes to the step's code running again, and to the approved act being let out."""
    bell, person = Bell(), User.objects.create_user(_NAME, password=_PASSWORD)
    person.groups.add(Group.objects.get(name=REVIEWER))
    with engine.worker(hops.CHILDREN) as on:
        taken = [_decide(person, run, bell) for run in _waiting(on, bell, "door")]
        with _signed_in(on) as browser:
            clicked = [_click(browser, run, bell) for run in _waiting(on, bell, "page")]
    steps, acts = zip(*taken, strict=True)
    return (
        hops.spread("to the step", steps)
        | hops.spread("to the act", acts)
        | hops.spread("from the click to the step", clicked)
    )


def _waiting(on: Stage, bell: Bell, word: str) -> list[Run]:
    """Runs that wait at a gate each."""
    words = [f"{word}{number}" for number in range(hops.SINGLE)]
    waiting = [engine.start("bench gated", 1, port=bell.port, word=each) for each in words]
    for each in words:
        bell.heard(each)
    engine.settle(on, waiting, RunState.SUSPENDED)
    return waiting


def _decide(person: User, run: Run, bell: Bell) -> tuple[float, float]:
    gate = Gate.objects.get(effect__run=run)
    answer = Answer(Verdict.APPROVE, gate.digest, gate.round)
    word = run.input["word"]
    begin = kit.now()
    decisions.decide(person, gate.pk, answer, _FROM)
    return bell.heard(word) - begin, bell.heard(f"{word}-out") - begin


@contextmanager
def _signed_in(on: Stage) -> Iterator[Browser]:
    """A web process, and the reviewer's browser before it."""
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    child = on.start(parts.web("127.0.0.1", port).argv, INTERLOCK_PUBLIC_URL=address, STATIC_HASHED="false")
    browser = Browser(address)
    wait_for(lambda: _answers(browser), "the web process", alive=lambda: child.poll() is None)
    page = browser.get(reverse("gates"))
    browser.post(page, page.forms[0], username=_NAME, password=_PASSWORD)
    yield browser
    on.stop(child)


def _answers(browser: Browser) -> bool:
    try:
        return browser.get("/healthz").status == 200
    except OSError:
        return False


def _click(browser: Browser, run: Run, bell: Bell) -> float:
    gate = Gate.objects.get(effect__run=run)
    page = browser.get(reverse("gate", args=[gate.pk]))
    form = next(form for form in page.forms if form.fields.get("verdict") == Verdict.APPROVE.value)
    begin = kit.now()
    browser.post(page, form)
    return bell.heard(run.input["word"]) - begin
