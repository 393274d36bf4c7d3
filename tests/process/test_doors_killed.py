"""A web server is killed as a person acts: before the commit nothing has happened, after it all of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import Any

import pytest
from django.contrib.auth.hashers import PBKDF2PasswordHasher

from approvals.models import Decision, Gate
from durable import journal, runner, runs
from durable.models import Run
from durable.states import RunState
from local.browser import Browser
from proof import pages, worker
from proof.stage import SWEEPER, Stage
from tests import factories
from tests.process import house
from tests.process.house import Ticket
from tests.vendors import Vendor

pytestmark = pytest.mark.process
PASSWORD = "let me in"
#: Nobody is there: what the dying servers have to tell the workers is lost with them.
NO_BROKER = "redis://127.0.0.1:1/0"
WHO = {"decision": "alice", "cancellations": "olga", "releases": "olga", "compensations": "olga"}


@dataclass(frozen=True)
class Case:
    """What a person does, and on which side of its commit the server dies."""

    act: str
    moment: str

    @property
    def point(self) -> str:
        return f"{'decision' if self.act == 'decision' else 'command'}.{self.moment}_commit"


CASES = tuple(Case(act, moment) for act in WHO for moment in ("before", "after"))


def test_a_server_killed_as_people_act_has_done_nothing_or_all_of_it(on: Stage, vendor: Vendor) -> None:
    tickets = {case: ready(vendor, case) for case in CASES}
    servers = on.start(pages.command([case.point for case in CASES]), CELERY_BROKER_URL=NO_BROKER)
    house.until(lambda: bool(said(on)), "the servers to listen", on.said)
    people = dict(signed_in(said(on)[0][0]))
    for case, address in zip(CASES, said(on)[0], strict=True):
        act(people[WHO[case.act]], address, case, tickets[case].run)
    assert servers.wait(house.PATIENCE) == 0, on.said()
    assert said(on)[1] == [-9] * len(CASES)

    assert {case: happened(case, tickets[case].run) for case in CASES} == {
        case: case.moment == "after" for case in CASES
    }
    untouched = {case: tickets[case].state() for case in CASES if case.moment == "before"}

    on.start(worker.command("runs", "survivor"))
    on.start(SWEEPER)
    for case in CASES:
        if case.moment == "after":
            house.until(partial(stands, tickets[case], ENDS[case.act]), f"{case} to go on", on.said)
    assert {case: tickets[case].state() for case in untouched} == untouched
    assert {case: moved(vendor, case, tickets[case]) for case in CASES} == {
        case: MOVED[case.act][case.moment] for case in CASES
    }

    again = tickets[Case("decision", "before")]
    house.approve(again)
    house.until(again.ended, "the run to complete once it is approved", on.said)
    assert again.moved() == [Decimal("184.50")]


def stands(ticket: Ticket, state: RunState) -> bool:
    return ticket.state() == state


ENDS = {
    "decision": RunState.COMPLETED,
    "cancellations": RunState.CANCELLED,
    "releases": RunState.COMPLETED,
    "compensations": RunState.COMPENSATED,
}
#: What the vendor's book says in the end, by act and by the side of the commit.
MOVED: dict[str, dict[str, list[int | Decimal]]] = {
    "decision": {"before": [], "after": [Decimal("184.50")]},
    "cancellations": {"before": [], "after": []},
    "releases": {"before": [], "after": [Decimal("40.00")]},
    "compensations": {"before": [1], "after": [1, -1]},
}


def ready(vendor: Vendor, case: Case) -> Ticket:
    """A run to which the act fits: it waits at its gate, is held, or has completed with something to undo."""
    name = f"{case.act}-{case.moment}"
    if case.act == "releases":
        ticket = Ticket(vendor, name).start()
        runs.hold(ticket.run.ref, actor="tests", reason="let me see")
        return ticket
    ticket = Ticket(vendor, name, paid="184.50")
    wants = "replacement" if case.act == "compensations" else "money"
    ticket.run = runs.start("RefundDesk", {"order": name, "wants": wants}, actor="tests")
    runner.drive(ticket.run.ref)
    return ticket


def said(on: Stage) -> list[list[Any]]:
    """What the servers have said: their addresses, and later how each of them ended."""
    return [json.loads(line) for line in on.said().splitlines() if line.startswith("[")]


def signed_in(address: str) -> Iterator[tuple[str, Browser]]:
    """A browser for each person. A session is good at every server: they share the host and the database."""
    for name in set(WHO.values()):
        person = factories.person(name)
        # The tests' own cheap hash is none that a process of the product would take.
        person.password = PBKDF2PasswordHasher().encode(PASSWORD, "salt", iterations=1)
        person.save(update_fields=["password"])
        browser = Browser(address)
        page = browser.get("/sign-in/")
        assert "/sign-in/" not in browser.post(page, page.forms[0], username=name, password=PASSWORD).url
        yield name, browser


def act(browser: Browser, address: str, case: Case, run: Run) -> None:
    """Post the page's own form. The server dies over it, and the browser gets no answer."""
    if case.act == "decision":
        page = browser.get(f"{address}gates/{Gate.objects.get(effect__run=run).pk}/")
        form = next(form for form in page.forms if form.fields.get("verdict") == "approve")
    else:
        page = browser.get(f"{address}runs/{run.ref}/")
        form = next(form for form in page.forms if form.action.endswith(f"/{case.act}/"))
    with pytest.raises(OSError):
        browser.post(page, form, reason="it is right so")


def happened(case: Case, run: Run) -> bool:
    """Whether the database knows of the act, with everything that belongs to it."""
    run.refresh_from_db()
    if case.act == "decision":
        gate = Gate.objects.get(effect__run=run)
        decided = Decision.objects.filter(gate=gate).count() == 1
        wanted = ("approved", RunState.QUEUED) if decided else ("open", RunState.SUSPENDED)
        assert (gate.state, run.state) == wanted
        return decided
    event, states = {
        "cancellations": ("cancel asked", (RunState.SUSPENDED, RunState.CANCELLING)),
        "releases": ("released", (RunState.SUSPENDED, RunState.QUEUED)),
        "compensations": ("compensation asked", (RunState.COMPLETED, RunState.COMPENSATING)),
    }[case.act]
    told = event in [one.kind for one in journal.events(run.ref)]
    assert run.state == states[told]
    return told


def moved(vendor: Vendor, case: Case, ticket: Ticket) -> list[int] | list[Decimal]:
    """What the vendor's book says about a run."""
    if case.act != "compensations":
        return ticket.moved()
    stock = vendor.book("stock")
    return [one["metadata"]["quantity"] for one in stock if one["key"].startswith(f"{ticket.run.ref}:")]
