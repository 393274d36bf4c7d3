"""The pages of erasures: who may see them, and that an erasure is of what was shown, and confirmed."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from approvals.models import Export
from durable.clock import db_now
from durable.models import Effect, Erasure, ErasureRun, LedgerEvent, Run
from durable.models.fields import Clock
from durable.states import EraseReason, RunState
from tests import factories
from tests.approvals.conftest import SignIn

pytestmark = pytest.mark.django_db


def ended(order: str = "8812") -> Run:
    """A run that has come to its end, about an order."""
    claim = factories.running()
    factories.propose(claim, order=order, amount="20", currency="EUR")
    Effect.objects.filter(run=claim.run_id).update(state="withdrawn")
    Run.objects.filter(pk=claim.run_id).update(
        state=RunState.COMPLETED.value, ended_at=Clock(), lease_until=None, input={"order": order}
    )
    return Run.objects.get(pk=claim.run_id)


@pytest.fixture(autouse=True)
def alone(settings: Any) -> None:
    """One person may; that it takes two has tests of its own."""
    settings.ERASE_ALONE_LIMIT = 100


def look(client: Client, names: str = "order:8812", **more: str) -> Any:
    return client.post(reverse("erasure-looks"), {"names": names, **more})


def asked(client: Client, **other: str) -> Any:
    """Post the form that the page shows, filled in."""
    shown = look(client).context
    form = {
        "names": "order:8812",
        "seen": shown["seen"],
        "reason": EraseReason.ASKED.value,
        "confirmed": "8812",
    }
    return client.post(reverse("erasure-requests"), form | other)


@pytest.mark.parametrize("who", [*factories.ROLES, "nobody"])
def test_only_who_may_erase_sees_erasures(who: str, sign_in: SignIn) -> None:
    run = ended()
    made = Erasure.objects.create(
        kinds=["order"], hashes=["0" * 64], reason=EraseReason.ASKED.value, actor="ada"
    )
    ErasureRun.objects.create(erasure=made, run=run)
    client = Client() if who == "nobody" else sign_in(factories.person(who))
    expected = {"nobody": 302, "ada": 200}.get(who, 403)
    for address in (reverse("erasures"), reverse("erasure", args=[made.pk])):
        assert client.get(address).status_code == expected
    assert look(client).status_code == expected
    assert ("Erasures" in client.get(reverse("runs")).content.decode()) is (who == "ada")


def test_looking_erases_nothing_and_names_stand_in_no_address(ada: Client) -> None:
    run = ended()
    answer = look(ada)
    assert (answer.context["at_once"], answer.status_code) == (1, 200) and run.ref in answer.content.decode()
    assert not Erasure.objects.exists() and Run.objects.get(pk=run.pk).input
    made = asked(ada)
    assert made.status_code == 303 and "8812" not in made["Location"]


@pytest.mark.parametrize("wrong", [{"confirmed": "8813"}, {"confirmed": ""}, {"reason": ""}, {"reason": "he asked"},
                                   {"reference": "for 8812"}, {"seen": ""}])  # fmt: skip
def test_without_a_reason_and_the_name_once_more_nothing_is_erased(
    ada: Client, wrong: dict[str, str]
) -> None:
    ended()
    answer = asked(ada, **wrong)
    assert answer.status_code == 422 and "Nothing was erased" in answer.content.decode()
    assert not Erasure.objects.exists()


def test_what_has_changed_since_it_was_shown_is_shown_again_and_not_erased(ada: Client) -> None:
    ended()
    seen = look(ada).context["seen"]
    ended()
    answer = asked(ada, seen=seen)
    assert (answer.status_code, answer.context["at_once"]) == (409, 2) and not Erasure.objects.exists()


def test_a_name_that_nobody_bears_and_one_without_end_are_answered_in_words(ada: Client) -> None:
    assert "No run has to do with them" in look(ada, "order:77777").content.decode()
    assert look(ada, "").status_code == 422
    assert look(ada, "\n".join(f"order:{no}" for no in range(50))).status_code == 422


def test_pages_of_erasures_take_few_queries_however_many_runs(ada: Client) -> None:
    for _ in range(3):
        ended()
    asked(ada)
    for address in (reverse("erasures"), reverse("erasure", args=[Erasure.objects.get().pk])):
        with CaptureQueriesContext(connection) as queries:
            ada.get(address)
        assert len(queries) <= 15
    with CaptureQueriesContext(connection) as queries:
        look(ada)
    assert len(queries) <= 15


def test_files_that_were_made_for_somebody_to_take_go_with_an_erasure(
    ada: Client, settings: Any, tmp_path: Path
) -> None:
    settings.INTERLOCK_EXPORTS = str(tmp_path)
    (tmp_path / "1-1.csv").write_text("8812")
    ended()
    form = {"person": User.objects.get(), "of": "ledger", "query": "order:8812", "form": "csv", "zone": "UTC"}
    made = Export.objects.create(
        state="made", file="1-1.csv", expires_at=db_now() + timedelta(days=1), **form
    )
    asked(ada)
    made.refresh_from_db()
    assert (made.state, made.file, made.query) == ("deleted", "", "") and not list(tmp_path.iterdir())
    assert LedgerEvent.objects.filter(
        run_ref=f"export:{made.pk}", kind="export deleted", actor="ada"
    ).exists()


def test_an_open_page_is_told_nothing_while_nothing_changes(ada: Client) -> None:
    ended()
    address = asked(ada)["Location"]
    version = ada.get(address).context["version"]
    assert ada.get(address, {"seen": version}, headers={"HX-Request": "true"}).status_code == 204
    ErasureRun.objects.update(why="run is held")
    assert ada.get(address, {"seen": version}, headers={"HX-Request": "true"}).status_code == 200
