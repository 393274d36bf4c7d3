"""The rest of the matrix of addresses by roles: what is open to strangers, and every page asked for as a fragment."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import path, reverse

from approvals.views.home import home
from durable import urls
from tests import factories
from tests.approvals import test_pages as matrix
from tests.approvals.addresses import names
from tests.approvals.conftest import SignIn

pytestmark = pytest.mark.django_db

PEOPLE = [*factories.ROLES, "nobody"]
#: By the name of an address: what a GET brings strangers, people without a role, and all others; then a POST.
OPEN: dict[str, tuple[tuple[int, int, int], tuple[int, int, int]]] = {
    "home": ((302, 403, 200), (405, 405, 405)),
    "sign-in": ((200, 302, 302), (200, 302, 302)),
    "sign-out": ((405, 405, 405), (302, 302, 302)),
    "healthz": ((200, 200, 200), (200, 200, 200)),
    "readyz": ((200, 200, 200), (200, 200, 200)),
}


def client_of(who: str, sign_in: SignIn) -> Client:
    return Client() if who == "nobody" else sign_in(factories.person(who))


def test_an_address_that_nobody_thought_of_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    forgotten = path("forgotten/", home)
    monkeypatch.setattr(urls, "urlpatterns", [*urls.urlpatterns, forgotten])
    from django.urls import clear_url_caches

    clear_url_caches()
    try:
        assert "without a name: forgotten/" in names()
        with pytest.raises(AssertionError):
            matrix.test_the_matrix_knows_every_address_of_the_urlconf()
    finally:
        monkeypatch.undo()
        clear_url_caches()


def test_every_open_address_has_its_row() -> None:
    assert sorted(OPEN) == sorted(matrix.OPEN)


@pytest.mark.parametrize("name", OPEN)
@pytest.mark.parametrize("who", PEOPLE)
def test_what_is_open_is_open_to_whom_it_should_be(name: str, who: str, sign_in: SignIn) -> None:
    place = {"nobody": 0, "charlie": 1}.get(who, 2)
    got, posted = OPEN[name]
    before = matrix.world()

    assert client_of(who, sign_in).get(reverse(name)).status_code == got[place]
    assert Client().get(reverse(name)).status_code == got[0]
    if who == "nobody":
        assert Client().post(reverse(name)).status_code == posted[0]
    assert matrix.world() == before


@pytest.mark.parametrize("name", [*matrix.LISTS, *matrix.OBJECTS])
@pytest.mark.parametrize("who", PEOPLE)
def test_a_fragment_is_refused_to_whom_its_page_is(name: str, who: str, sign_in: SignIn) -> None:
    gate = factories.gate()
    client, address = client_of(who, sign_in), matrix.address(name, gate)
    asked: dict[str, Any] = {"data": {"seen": "an older one"}, "headers": {"HX-Request": "true"}}

    whole, part = client.get(address), client.get(address, **asked)

    ended = whole.status_code == 200 and part.status_code == 286
    assert ended or part.status_code == whole.status_code
    assert whole.status_code == {"nobody": 302, "charlie": 403}.get(who, 200)
