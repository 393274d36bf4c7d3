"""What can't be read is refused in words: nothing is done, and the page says what to do."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from durable.models import Run
from tests import factories
from tests.approvals.conftest import SignIn

pytestmark = pytest.mark.django_db

FORM = "application/x-www-form-urlencoded"


@pytest.fixture
def run() -> Run:
    return factories.gate().effect.run


@pytest.fixture
def olga(sign_in: SignIn) -> Client:
    return sign_in(factories.person("olga"))


def test_a_form_that_is_too_large_is_refused_with_the_limit_and_nothing_is_done(
    run: Run, olga: Client, settings: Any
) -> None:
    body = f"reason={'x' * (settings.DATA_UPLOAD_MAX_MEMORY_SIZE + 1)}"
    answer = olga.post(reverse("holds", args=[run.ref]), body, content_type=FORM)
    page = answer.content.decode()
    assert answer.status_code == 413
    assert "Nothing was done. A form may hold 8 MB" in page and "Go back with your browser" in page
    run.refresh_from_db()
    assert not run.held


def test_a_form_with_too_many_fields_is_refused_with_how_many_it_may_have(run: Run, olga: Client) -> None:
    body = "&".join(f"run=run-{number}" for number in range(1_001))
    answer = olga.post(reverse("bulk-drafts"), body, content_type=FORM)
    assert answer.status_code == 413 and "A form may hold 1,000 fields" in answer.content.decode()


def test_what_is_no_form_and_no_address_of_ours_is_answered_by_a_page_in_words(
    run: Run, olga: Client
) -> None:
    half = "multipart/form-data; boundary="
    broken = olga.post(reverse("holds", args=[run.ref]), "reason=x", content_type=half)
    elsewhere = Client().get("/", headers={"Host": "elsewhere.example"})
    for answer in (broken, elsewhere):
        assert answer.status_code == 400
        assert "This could not be read" in answer.content.decode()
        assert "Nothing was done." in answer.content.decode()
