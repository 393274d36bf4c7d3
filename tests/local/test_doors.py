"""The addresses for machines, and what every answer carries."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.db import OperationalError, connection
from django.http import HttpRequest, HttpResponse
from django.test import Client, RequestFactory, override_settings
from django.urls import path

from durable import urls as project
from durable.middleware import failed
from local.process import free_port


def who(request: HttpRequest) -> HttpResponse:
    """A page that asks the database who is there."""
    return HttpResponse(str(request.user))


urlpatterns = [path("who", who), *project.urlpatterns]


@pytest.fixture
def database_away(transactional_db: None) -> Iterator[None]:
    """The real driver, sent to a port on which nobody listens."""
    port = connection.settings_dict["PORT"]
    connection.close()
    connection.settings_dict["PORT"] = free_port()
    yield
    connection.close()
    connection.settings_dict["PORT"] = port


@pytest.mark.django_db
def test_a_process_with_its_services_is_ready(client: Client) -> None:
    answer = client.get("/readyz")

    assert (answer.status_code, answer.content) == (200, b"ready\n")


@pytest.mark.django_db
def test_a_broker_that_is_away_is_named_in_words(client: Client) -> None:
    with override_settings(CELERY_BROKER_URL=f"redis://:hidden@127.0.0.1:{free_port()}/0"):
        answer = client.get("/readyz")

    assert answer.status_code == 503
    assert answer.content.startswith(b"The broker does not answer.")
    assert b"hidden" not in answer.content


@pytest.mark.usefixtures("database_away")
def test_a_database_that_is_away_is_named_in_words(client: Client) -> None:
    answer = client.get("/readyz")

    assert answer.status_code == 503
    assert answer.content.startswith(b"The database does not answer.")


@pytest.mark.usefixtures("database_away")
def test_the_process_is_alive_while_its_database_is_away(client: Client) -> None:
    assert client.get("/healthz").status_code == 200


@pytest.mark.urls(__name__)
@pytest.mark.usefixtures("database_away")
def test_a_page_says_that_the_database_is_away_instead_of_failing(client: Client) -> None:
    client.cookies["sessionid"] = "a" * 32

    answer = client.get("/who")

    assert answer.status_code == 503
    assert b"Nothing is lost" in answer.content
    assert "no-store" in answer["Cache-Control"]
    assert answer["Retry-After"] == "5"


@pytest.mark.usefixtures("database_away")
def test_an_error_outside_the_views_is_no_500_either(rf: RequestFactory) -> None:
    try:
        connection.ensure_connection()
    except OperationalError:
        answer = failed(rf.get("/"))

    assert answer.status_code == 503


def test_what_a_signed_in_browser_gets_is_stored_nowhere(client: Client) -> None:
    client.cookies["sessionid"] = "a" * 32

    assert "no-store" in client.get("/healthz")["Cache-Control"]


def test_every_answer_forbids_what_the_pages_do_not_need(client: Client) -> None:
    answer = client.get("/healthz")

    policy = dict(part.strip().split(" ", 1) for part in answer["Content-Security-Policy"].split(";"))
    assert policy["default-src"] == policy["frame-ancestors"] == policy["base-uri"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["form-action"] == "'self'"
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert answer["Cross-Origin-Opener-Policy"] == "same-origin"
    assert answer["Referrer-Policy"] == "same-origin"
    assert answer["X-Frame-Options"] == "DENY"
