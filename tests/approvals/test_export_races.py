"""Of several who ask, make or take an export at once, each is told what is true, and one file is made."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from approvals.exports import making, orders, work
from approvals.models import Export
from approvals.states import ExportState
from durable.errors import Conflict
from tests import factories
from tests.approvals.conftest import SignIn
from tests.approvals.test_exports import folder
from tests.engine.rooted import url
from tests.together import at_once

__all__ = ["folder"]

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Which exports workers are told of, as those see it who are told: zero for one that is not there yet."""
    heard: list[int] = []

    def hear(pk: int) -> None:
        with psycopg.connect(url("application")) as worker:
            row = worker.execute("SELECT id FROM approvals_export WHERE id = %s", [pk]).fetchone()
        heard.append(row[0] if row else 0)

    monkeypatch.setattr(orders, "announce", hear)
    return heard


@pytest.mark.parametrize("what", ["", "manifest"])
def test_a_link_to_somebody_elses_export_is_to_nothing_whoever_follows_it(
    told: list[int], folder: Path, sign_in: SignIn, what: str
) -> None:
    """The numbers are easy to guess; so is one that a colleague has passed on, with every right to an own one."""
    rita, ada = factories.person("rita"), factories.person("ada")
    factories.gate()
    mine, running = orders.order(rita, "ledger", "", "csv"), orders.order(rita, "ledger", "tool:pay", "csv")
    work.carry_on(mine.pk)
    mine.refresh_from_db()
    others = sign_in(ada)
    for name, number in (("downloads", mine.pk), ("deletions", mine.pk), ("stops", running.pk)):
        answer = others.post(reverse(f"export-{name}", args=[number]), {"what": what})
        nothing = others.post(reverse(f"export-{name}", args=[999_999]), {"what": what})
        assert (answer.status_code, nothing.status_code) == (404, 404)
        assert mine.file not in answer.content.decode()
    assert sorted(Export.objects.values_list("state", flat=True)) == ["asked", "made"]
    assert (folder / mine.file).exists()
    own = sign_in(rita).post(reverse("export-downloads", args=[mine.pk]), {"what": what})
    assert own.status_code == 200 and len(own.getvalue()) > 100


def test_two_clicks_ask_for_one_file_and_its_worker_is_told_when_it_is_there(told: list[int]) -> None:
    rita = factories.person("rita")
    for turn in range(5):
        made = at_once(*[lambda: orders.order(rita, "ledger", "", "csv")] * 4)
        assert len({one.pk for one in made}) == 1 == len(told)
        assert told == [made[0].pk]
        told.clear()
        Export.objects.update(state=ExportState.STOPPED.value)
        assert Export.objects.count() == turn + 1


def test_of_more_than_may_be_under_way_the_rest_is_refused_however_many_ask_at_once(told: list[int]) -> None:
    rita = factories.person("rita")
    asks = [partial(orders.order, rita, "ledger", f"key:run-{n}:", "csv") for n in range(6)]
    made = at_once(*asks, loses=Conflict)
    assert (
        [isinstance(one, Conflict) for one in made].count(False) == orders.AT_ONCE == Export.objects.count()
    )


def test_an_export_is_made_by_one_worker_however_many_are_told(told: list[int], folder: Path) -> None:
    factories.gate()
    export = orders.order(factories.person("rita"), "ledger", "", "csv")

    def worker() -> None:
        work.carry_on(export.pk)

    at_once(*[worker] * 4)
    export.refresh_from_db()
    assert (export.state, export.claim, export.rows) == ("made", 1, 1)
    assert [one.name for one in folder.iterdir()] == [export.file]


def test_for_somebody_who_has_lost_the_right_before_it_is_begun_nothing_is_read(
    told: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    rita = factories.person("rita")
    export = orders.order(rita, "ledger", "", "csv")
    rita.groups.clear()
    begun: list[int] = []
    monkeypatch.setattr(making, "make", lambda export, *_: begun.append(export.pk))
    work.carry_on(export.pk)
    export.refresh_from_db()
    assert (export.state, begun) == ("failed", []) and "right to take files out" in export.words


def once_made(monkeypatch: pytest.MonkeyPatch, then: Callable[[], object]) -> None:
    """Let something happen when the last row is written, and before that is told."""
    make = making.make

    def made(*args: Any) -> making.Made:
        done = make(*args)
        then()
        return done

    monkeypatch.setattr(making, "make", made)


def test_one_whose_maker_is_switched_off_while_it_is_made_leaves_no_file(
    told: list[int], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rita = factories.person("rita")
    export = orders.order(rita, "ledger", "", "csv")
    once_made(monkeypatch, lambda: User.objects.filter(pk=rita.pk).update(is_active=False))
    work.carry_on(export.pk)
    export.refresh_from_db()
    assert (export.state, export.file, list(folder.iterdir())) == ("failed", "", [])


def test_one_that_was_stopped_while_its_last_row_was_written_leaves_no_file(
    told: list[int], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rita = factories.person("rita")
    export = orders.order(rita, "ledger", "", "csv")
    once_made(monkeypatch, lambda: orders.stop(rita, export.pk))
    work.carry_on(export.pk)
    export.refresh_from_db()
    assert (export.state, export.file, list(folder.iterdir())) == ("stopped", "", [])


def test_one_over_which_workers_have_died_too_often_has_failed(told: list[int]) -> None:
    export = orders.order(factories.person("rita"), "ledger", "", "csv")
    Export.objects.filter(pk=export.pk).update(claim=work.CLAIMS)
    work.carry_on(export.pk)
    export.refresh_from_db()
    assert export.state == "failed" and "8 workers have begun with it" in export.words
