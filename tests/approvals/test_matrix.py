"""The matrix of addresses by roles: who sees a page, whole or in part, who may act, and that looking changes nothing.

All cells share one house, in which each person has signed in; what a cell writes is taken back after it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import clear_url_caches, path, reverse

from approvals.models import Gate
from approvals.views.home import home
from durable import urls
from tests import factories
from tests.approvals.addresses import names
from tests.approvals.matrix import (
    DOSSIERS,
    ELSEWHERE,
    LISTS,
    OBJECTS,
    OPEN,
    OWN,
    POSTS,
    READERS,
    address,
)  # fmt: skip
from tests.approvals.sharing import apart, rolled_back
from tests.approvals.world import world

PEOPLE = [*factories.ROLES, "nobody"]
#: By the name of an address: what a GET brings strangers, people without a role, and all others; then a POST.
TO_STRANGERS: dict[str, tuple[tuple[int, int, int], tuple[int, int, int]]] = {
    "home": ((302, 403, 200), (405, 405, 405)),
    "sign-in": ((200, 302, 302), (200, 302, 302)),
    "sign-out": ((405, 405, 405), (302, 302, 302)),
    "healthz": ((200, 200, 200), (200, 200, 200)),
    "readyz": ((200, 200, 200), (200, 200, 200)),
}

Clients = dict[str, Client]


@pytest.fixture(scope="module", autouse=True)
def shared(django_db_setup: None, django_db_blocker: Any) -> Iterator[tuple[Gate, Clients]]:
    with apart(django_db_blocker):
        gate = factories.gate()
        people = {"nobody": Client()}
        for who, person in factories.cast().items():
            people[who] = Client()
            people[who].force_login(person)
        yield gate, people


@pytest.fixture(autouse=True)
def taken_back(shared: object) -> Iterator[None]:
    with rolled_back():
        yield


@pytest.fixture
def gate(shared: tuple[Gate, Clients]) -> Gate:
    return shared[0]


@pytest.fixture
def people(shared: tuple[Gate, Clients]) -> Clients:
    return shared[1]


def test_the_matrix_knows_every_address_of_the_urlconf() -> None:
    assert sorted(names()) == sorted({*LISTS, *OBJECTS, *POSTS, *OPEN, *ELSEWHERE})


def test_an_address_that_nobody_thought_of_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    forgotten = path("forgotten/", home)
    monkeypatch.setattr(urls, "urlpatterns", [*urls.urlpatterns, forgotten])
    clear_url_caches()
    try:
        assert "without a name: forgotten/" in names()
        with pytest.raises(AssertionError):
            test_the_matrix_knows_every_address_of_the_urlconf()
    finally:
        monkeypatch.undo()
        clear_url_caches()


def test_every_open_address_has_its_row() -> None:
    assert sorted(TO_STRANGERS) == sorted(OPEN)


@pytest.mark.parametrize("name", TO_STRANGERS)
@pytest.mark.parametrize("who", PEOPLE)
def test_what_is_open_is_open_to_whom_it_should_be(name: str, who: str, people: Clients) -> None:
    place = {"nobody": 0, "charlie": 1}.get(who, 2)
    got, posted = TO_STRANGERS[name]
    before = world()

    assert people[who].get(reverse(name)).status_code == got[place]
    assert Client().get(reverse(name)).status_code == got[0]
    if who == "nobody":
        assert Client().post(reverse(name)).status_code == posted[0]
    assert world() == before


@pytest.mark.parametrize("name", [*LISTS, *OBJECTS])
@pytest.mark.parametrize("who", PEOPLE)
def test_every_page_and_its_fragment_by_every_role(name: str, who: str, gate: Gate, people: Clients) -> None:
    at = address(name, gate)
    before = world()

    whole = people[who].get(at)
    part = people[who].get(at, {"seen": "an older one"}, headers={"HX-Request": "true"})

    expected = {"nobody": 302, "charlie": 403}.get(who, 200)
    assert (whole.status_code, world() == before) == (expected, True)
    ended = whole.status_code == 200 and part.status_code == 286
    assert ended or part.status_code == whole.status_code


@pytest.mark.parametrize("name", [name for name in POSTS if name in names()])
@pytest.mark.parametrize("who", ["olga", "nobody"])
def test_an_act_has_one_method_and_whoever_looks_at_its_address_is_led_to_what_it_is_about(
    name: str, who: str, gate: Gate, people: Clients
) -> None:
    client, at = people[who], address(name, gate)
    before = world()
    for method in ("get", "head"):  # a refused act leaves its address in the browser
        assert getattr(client, method)(at).status_code == 303
    for method in ("put", "delete", "patch"):
        assert getattr(client, method)(at).status_code == 405
    assert world() == before


@pytest.mark.parametrize("name", [name for name in POSTS if name in names()])
@pytest.mark.parametrize("who", PEOPLE)
def test_no_act_is_done_without_a_right(name: str, who: str, gate: Gate, people: Clients) -> None:
    at = address(name, gate)
    before = world()
    answer = people[who].post(at)
    # An empty form: who has the right is told what is wrong, all others that they may not.
    told = {
        "decisions": {"alice": 422, "bob": 422, "olga": 422, "rita": 422, "ada": 422},
        "alike-decisions": {"alice": 422, "bob": 422, "olga": 422, "rita": 422, "ada": 422},
        "answers": {"olga": 409},
        "look-ups": {"olga": 409},
        # Everybody who sees runs has views of their own, and none of somebody else's.
        "run-views": dict.fromkeys((*READERS, "bob"), 422),
        "run-view-deletions": dict.fromkeys((*READERS, "bob"), 404),
        "bulk-stops": {"olga": 303},
        "bulk-starts": {"olga": 422},
        "retention-policies": {"ada": 422},
        "hold-orders": {"rita": 422, "ada": 422},
        "hold-liftings": {"rita": 409, "ada": 409},
        # A file is taken, which changes nothing; a vendor may be asked by whoever reads the ledger.
        **{f"{one}-files": {"rita": 200, "ada": 200} for one in DOSSIERS},
        "dossier-look-ups": dict.fromkeys((*READERS, "bob"), 200),
        "erasure-looks": {"ada": 422},
        "erasure-requests": {"ada": 422},
        "erasure-withdrawals": {"ada": 404},
        "time-zone-choices": dict.fromkeys((*READERS, "bob"), 422),
        # An export of nothing is not there, and nobody has somebody else's.
        "export-requests": {"rita": 404, "ada": 404},
        **{
            f"export-{one}": dict.fromkeys((*READERS, "bob"), 404)
            for one in ("stops", "deletions", "downloads")
        },
        **{f"statement-{one}": {"rita": 422, "ada": 422} for one in ("requests", "explanations")},
    }
    stranger = 404 if name in OWN else 403
    expected = {"nobody": 302, "charlie": stranger}.get(who) or told.get(name, {"olga": 422}).get(who, 403)
    assert (answer.status_code, world() == before) == (expected, True)


@pytest.fixture(scope="module")
def asked(shared: tuple[Gate, Clients]) -> dict[str, tuple[int, int]]:
    """For each list, how many queries it takes with one row, and how many with forty."""
    olga = shared[1]["olga"]

    def count(name: str) -> int:
        olga.get(reverse(name))
        with CaptureQueriesContext(connection) as queries:
            olga.get(reverse(name))
        return len(queries)

    lists = [*LISTS, "home"]
    with rolled_back():
        few = [count(name) for name in lists]
        for _ in range(39):
            factories.gate()
        many = [count(name) for name in lists]
    return dict(zip(lists, zip(few, many, strict=True), strict=True))


@pytest.mark.parametrize("name", [*LISTS, "home"])
def test_a_list_asks_as_many_queries_for_forty_rows_as_for_one(
    name: str, asked: dict[str, tuple[int, int]]
) -> None:
    few, many = asked[name]
    assert many == few <= 25


@pytest.mark.parametrize("nonsense", ["x", "-1", "9" * 30, "1_2_3", "1_2026-11-29_x", "\x00"])
@pytest.mark.parametrize("name", LISTS)
def test_nonsense_in_an_address_shows_a_page_and_no_error(name: str, nonsense: str, people: Clients) -> None:
    for field in ("after", "before", "state", "q", "seen"):
        assert people["alice"].get(reverse(name), {field: nonsense}).status_code == 200, field
