"""What open pages ask by themselves, found in the pages themselves: whatever a page polls, a new one's too."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from functools import partial
from html import unescape
from urllib.parse import parse_qsl

import pytest
from django.test import Client
from django.urls import reverse
from django.utils.html import strip_tags

from approvals import idle
from approvals.models import BulkAct, Gate
from durable import holds, journal
from durable.models import Erasure, RetentionPass, Run
from durable.models.fields import Clock
from durable.states import EventKind
from tests import factories
from tests.approvals import stated
from tests.approvals.conftest import SignIn
from tests.approvals.house import House, full
from tests.approvals.test_home import stuck
from tests.approvals.test_query_bounds import kind_of
from tests.approvals.test_sign_in_safety import aged

pytestmark = pytest.mark.django_db

HTMX = {"HX-Request": "true"}
ROLES = ("alice", "olga", "rita", "ada")
#: Pages on which nothing changes by itself: forms, files, comparisons, and what was kept of one moment.
STILL = {
    "alike", "fork", "differences", "dossier-effect", "dossier-run", "dossier-subject", "export",
    "time-zone", "retention-change",
}  # fmt: skip
#: Pages that ask as long as something is under way; in the house of these tests it is over.
OVER = {"bulk-act", "statement", "way-back"}
#: The address that a part of a page asks, and how often.
POLL = re.compile(r'hx-get="([^"]*)" hx-trigger="every (\d+)s"')


def polls(client: Client, path: str, **query: str) -> Iterator[tuple[str, int]]:
    """What the page at a path, or what htmx is answered there, polls: each address, and after how many seconds."""
    answer = client.get(path, query, headers=HTMX if query else {})
    if answer.status_code != 200 or not answer["Content-Type"].startswith("text/html"):
        return
    for address, seconds in POLL.findall(answer.content.decode()):
        asked = unescape(address)
        yield f"{path.partition('?')[0]}{asked}" if asked.startswith("?") else asked, int(seconds)


def every_poll(house: House) -> Iterator[tuple[Client, str, int]]:
    """Every poll of every kind of page, asked by each who may see it."""
    for who in ROLES:
        client = house.signs_in(who)
        for path in {kind_of(path): path for path in house.pages()}.values():
            for address, seconds in polls(client, path):
                yield client, address, seconds


def rested(client: Client, seconds: int) -> int:
    """Let a sign-in be used so long ago, and return when that was."""
    session = client.session
    session[idle.USED] = used = int(time.time()) - seconds
    session.save()
    return used


def sort(address: str) -> tuple[str, ...]:
    """What tells a poll from others of the same kind of page."""
    place, _, query = address.partition("?")
    return (kind_of(place), *(name for name, _ in parse_qsl(query, keep_blank_values=True)))


def test_nothing_that_an_open_page_asks_by_itself_is_a_use_of_the_sign_in() -> None:
    house = full()
    asked: dict[tuple[str, ...], None] = {}
    for client, address, _ in every_poll(house):
        before = rested(client, 3_000)
        client.get(address, headers=HTMX)
        assert client.session[idle.USED] == before, address
        place, _, query = address.partition("?")
        # What the answer brings when the page has changed polls on.
        changed = dict(parse_qsl(query, keep_blank_values=True)) | {"seen": "older"}
        for again, _ in polls(client, place, **changed):
            client.get(again, headers=HTMX)
            assert client.session[idle.USED] == before, again
        asked[sort(address)] = None
    assert {("home", "seen"), ("home", "part", "period", "seen"), ("system", "seen"), ("counts", "seen")} <= {
        *asked
    }


def test_a_page_that_stands_open_on_the_first_page_or_on_system_is_signed_out_once_nobody_uses_it(
    sign_in: SignIn,
) -> None:
    person = factories.person("olga")
    olga = sign_in(person)
    for name in ("home", "system"):
        for address, _ in [*polls(olga, reverse(name))]:
            rested(olga, 3_000)
            assert olga.get(address, headers=HTMX).status_code in (200, 204), address
            aged(olga, used=700)
            answer = olga.get(address, headers=HTMX)
            assert answer.status_code == 302 and answer["Location"].startswith("/sign-in/"), address
            olga.force_login(person)
            olga.get(reverse(name))


def test_a_poll_of_what_has_not_changed_swaps_nothing() -> None:
    house = full()
    for client, address, _ in every_poll(house):
        assert quiet(client, address), address


def quiet(client: Client, address: str, tries: int = 5) -> bool:
    """Whether a poll is answered with 204; ages in seconds may have to be shown anew meanwhile."""
    for _ in range(tries):
        answer = client.get(address, headers=HTMX)
        if answer.status_code == 204:
            return True
        place = address.partition("?")[0]
        found = [unescape(one) for one, _ in POLL.findall(answer.content.decode())]
        if not found:
            return False
        address = found[0] if not found[0].startswith("?") else place + found[0]
    return False


def test_whatever_changes_on_a_page_that_stands_open_is_asked_for_within_two_seconds() -> None:
    house = full()
    rarely, live, shown = set(), set(), set()
    for who in ROLES:
        client = house.signs_in(who)
        for path in {kind_of(path): path for path in house.pages()[::-1]}.values():
            answer = client.get(path)
            _, _, main = answer.content.decode().partition("<main ")
            if answer.status_code != 200 or not main:
                continue
            shown.add(kind_of(path))
            for address, seconds in POLL.findall(main):
                live.add(kind_of(path))
                rarely |= {unescape(address)} if int(seconds) > 2 else set()
    assert shown - live <= STILL | OVER and not live & STILL, (shown - live - STILL - OVER, live & STILL)
    # A history of hours and days; its newest column is drawn anew every five minutes.
    assert {sort(f"/{address.lstrip('/')}") for address in rarely} == {("home", "part", "period", "seen")}


def test_the_next_poll_of_a_page_that_stands_open_brings_what_has_changed_on_it() -> None:
    house = full()
    ada = house.signs_in("ada")
    for path, change, told in changes(house):
        (address,) = [one for one, _ in polls(ada, path) if not one.startswith(reverse("counts"))]
        assert quiet(ada, address), path
        change()
        answer = ada.get(address, headers=HTMX)
        assert answer.status_code == 200 and told in strip_tags(answer.content.decode()), path


def changes(house: House) -> Iterator[tuple[str, Callable[[], object], str]]:
    """Pages, each with something that happens to what it shows, and with what is then to be read on it."""
    letter, run = house.gates[2], house.runs[3]
    runs, gates = Run.objects.filter(pk=run.pk), Gate.objects.filter(pk=letter.pk)
    yield reverse("behind", args=["stuck"]), stuck, "3 in this list"
    yield reverse("behind", args=["irreversible"]), lambda: gates.update(state="withdrawn"), "0 in this list"
    yield reverse("behind", args=["failed"]), lambda: runs.update(state="failed"), "3 in this list"
    yield reverse("bulk-acts"), lambda: BulkAct.objects.update(state="stopped"), "Stopped"
    hold = partial(holds.set_on_run, house.runs[4].ref, actor="ada", reason="a new claim")
    yield reverse("legal-holds"), hold, "a new claim"
    passes = RetentionPass.objects.all()
    yield reverse("retention"), lambda: passes.update(trouble="no room at all"), "no room at all"
    asked = Erasure.objects.all()
    yield (
        reverse("erasures"),
        lambda: asked.update(withdrawn_at=Clock(), withdrawn_by="ada", due_at=None),
        "Withdrawn",
    )
    yield reverse("statements"), lambda: stated.request(3, asked_by="noor"), "asked by noor"
    said = partial(journal.record, run, EventKind.RETRIED, actor="marta")
    yield reverse("log", args=[run.ref]), said, "marta"
    yield reverse("checkpoints", args=[run.ref]), lambda: runs.update(attempt=7), "attempt 7"
    yield reverse("conversation", args=[run.ref]), lambda: runs.update(message_count=4), "2 new, show them"

    def paid(order: str) -> None:
        claim = factories.running(limits={"JPY": 100})
        factories.propose(claim, order=order, amount="7", currency="JPY")

    yield f"{reverse('refunds')}?tool=pay_out", partial(paid, "9"), "JPY"
    yield reverse("tools"), partial(paid, "10"), "pay_out"
