"""The system page and the figures for Prometheus: what is wrong in words, and no part's failure hides another."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.apps import apps
from django.contrib.auth.models import Group, Permission
from django.db import OperationalError, connection
from django.db.models.signals import post_migrate
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from approvals import metrics
from approvals.queries import readings, system
from approvals.queries.parts import Trouble
from approvals.queries.readings import Work
from durable import journal
from durable.clock import db_now
from durable.models import Anchor, Attempt, Mark, Run, Stop
from durable.models.fields import Clock
from durable.states import EventKind
from tests import factories
from tests.approvals.conftest import SignIn
from tests.approvals.world import world

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("nothing_asked")]

LINE = re.compile(r'([a-z_]+)(?:\{([a-z_]+="(?:[^"\\]|\\.)*",?)+\})? (-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)')


def due(minutes: int) -> Run:
    run = Run.objects.get(pk=factories.running().run_id)
    moment = Clock() - timedelta(minutes=minutes)
    Run.objects.filter(pk=run.pk).update(state="queued", due_at=moment, lease_until=None, hinted_at=Clock())
    return run


def claimed(run: Run, minutes: int) -> None:
    Attempt.objects.create(run=run, number=1, worker="w1:7", claimed_at=Clock() - timedelta(minutes=minutes))


def troubles() -> list[Trouble]:
    """What is wrong, but for the tests' database, which waits for no disk and is told so."""
    return [one for one in system.overview()["troubles"] if "wait for its disk" not in one.sentence]


def sentences() -> str:
    return " ".join(trouble.sentence for trouble in troubles())


def figures_of(text: str) -> dict[str, float]:
    found = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            name, _, value = line.rpartition(" ")
            found[name] = float(value)
    return found


def test_work_that_nobody_takes_is_told_in_words_with_what_to_do() -> None:
    claimed(due(4), 4)
    due(2)
    found = troubles()
    assert [trouble.sentence for trouble in found] == [
        "No worker has taken a run for 4 min while 2 wait: is one running?"
    ]
    assert "celery -A durable.celery worker" in found[0].todo


def test_workers_that_take_runs_but_too_slowly_are_called_too_few() -> None:
    claimed(due(4), 0)
    assert "workers are there, but too few" in sentences()


def test_work_that_has_just_become_due_is_no_trouble() -> None:
    due(0)
    assert sentences() == ""


def test_a_lease_that_ran_out_and_a_deadline_that_passed_show_that_the_sweeper_is_behind() -> None:
    claim = factories.running()
    Run.objects.filter(pk=claim.run_id).update(lease_until=Clock() - timedelta(minutes=3))
    told = sentences()
    assert "1 lease ran out, the first 3 min ago, and nobody has taken the runs over." in told
    assert "The sweeper is 3 min behind" in told


def test_a_sweeper_that_announces_what_is_due_is_not_behind_however_long_workers_are_away() -> None:
    now = db_now()
    hour = timedelta(hours=1)
    heard = Work(1, now - hour, now, None, 0, 0, None, None)
    unheard = Work(1, now - hour, now - hour, None, 0, 0, None, None)
    assert heard.lag(now) == timedelta(0)
    assert unheard.lag(now) == hour - timedelta(seconds=15)


def test_a_part_that_does_not_answer_is_shown_as_failing_beside_the_others(
    sign_in: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: Any) -> None:
        raise OSError("connection refused to redis://:secret@broker")

    monkeypatch.setattr(readings, "depths", away)
    monkeypatch.setattr(readings, "database", lambda tables: away())
    page = sign_in(factories.person("olga")).get(reverse("system"))
    failing = {part.name for part in page.context["parts"] if part.failing}
    assert (page.status_code, failing) == (200, {"Broker", "Database", "Versions"})
    facts = {name: value for part in page.context["parts"] for name, value in part.facts}
    assert facts["/readyz"] == "503: broker and database can't be used"
    assert "Work and workers" in page.content.decode() and "secret" not in page.content.decode()
    found = figures_of(metrics.text())
    assert found['interlock_part_failed{part="broker"}'] == 1
    assert found['interlock_part_failed{part="work"}'] == 0


def test_a_stop_order_stands_on_the_page_with_who_and_why_and_the_number_that_lifts_it() -> None:
    order = Stop.objects.create(scope="tool", name="refund", actor="nadia", reason="vendor pays twice")
    (trouble,) = [one for one in troubles() if "stop order" in one.sentence]
    assert f"by its number, {order.pk}:" in trouble.todo
    assert "A stop order of nadia lets nothing of tool “refund” out: “vendor pays twice”" in sentences()


def test_roots_that_nobody_makes_and_anchors_that_fail_are_told_in_words() -> None:
    assert "root" not in sentences()
    journal.record(Run.objects.get(pk=factories.running().run_id), EventKind.HELD)
    assert "root" not in sentences()  # it has only just happened
    now = db_now() + timedelta(hours=2)
    Anchor.objects.create(
        name="file", trouble="the file of roots can't be written: disk full", failing_since=db_now()
    )
    told = {one.sentence: one.todo for one in system.overview(now)["troubles"]}
    late = "For 2 h no root has been made over new events."
    assert "INTERLOCK_SIGN_KEY" in told[late]
    failing = "The anchor file has kept no root for 2 h: “the file of roots can't be written: disk full”."
    assert "tried again by itself" in told[failing]
    Mark.objects.create(last=10**9, transaction=1)
    told = {one.sentence: one.todo for one in system.overview(now)["troubles"]}
    assert "pg_stat_activity" in told[late]


def test_an_installation_without_any_anchor_is_told_so(settings: Any) -> None:
    settings.INTERLOCK_ANCHORS = []
    assert "No anchor keeps roots outside of the database." in sentences()


def test_figures_say_how_far_roots_are_and_which_anchor_fails() -> None:
    journal.record(Run.objects.get(pk=factories.running().run_id), EventKind.HELD)
    Anchor.objects.create(name="file", failing_since=Clock() - timedelta(minutes=3))
    found = figures_of(metrics.text())
    assert found["interlock_unproven_events"] == 1
    assert 0 < found["interlock_roots_behind_seconds"] < 60
    assert 180 <= found['interlock_anchor_failing_seconds{anchor="file"}'] < 240


def test_tables_older_than_the_code_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    found = replace(readings.database(1), migrations={"durable": "0001_initial", "approvals": "9999"})
    monkeypatch.setattr(readings, "database", lambda tables: found)
    assert "The tables of durable are older than the code" in sentences()


def test_workers_are_asked_apart_and_a_broker_that_is_away_is_said(
    sign_in: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    olga = sign_in(factories.person("olga"))
    monkeypatch.setattr(readings, "answering", lambda: ["worker-1@here"])
    assert b"worker-1@here" not in olga.get(reverse("system")).content
    assert b"worker-1@here" in olga.get(reverse("system"), {"ask": "workers"}).content

    def away() -> list[str]:
        raise OSError

    monkeypatch.setattr(readings, "answering", away)
    part = olga.get(reverse("system"), {"ask": "workers"}, headers={"HX-Request": "true"})
    assert part.status_code == 200 and b"the broker does not answer" in part.content


def test_the_system_page_asks_few_questions(sign_in: SignIn) -> None:
    olga = sign_in(factories.person("olga"))
    olga.get(reverse("system"))
    with CaptureQueriesContext(connection) as queries:
        assert olga.get(reverse("system")).status_code == 200
    assert len(queries) <= 15


def test_metrics_are_lines_that_prometheus_reads() -> None:
    factories.gate()
    claim = factories.running()
    text = metrics.text()
    assert text.endswith("\n")
    for line in text.splitlines():
        assert re.fullmatch(r"# (HELP|TYPE) interlock_\w+ .+", line) or LINE.fullmatch(line), line
    names = [line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")]
    assert len(names) == len(set(names))
    found = figures_of(text)
    assert found['interlock_runs{state="running"}'] == Run.objects.filter(state="running").count() == 1
    assert found["interlock_gates_waiting"] == 1
    assert claim.run_ref not in text


def test_a_label_can_hold_any_text_and_break_no_line() -> None:
    (*_, line) = metrics._lines("x", "told", [({"name": 'a"b\\c\nd'}, 1.0)])
    assert line == 'x{name="a\\"b\\\\c\\nd"} 1'


@pytest.mark.parametrize(
    ("who", "status"),
    [
        ("olga", 200),
        ("ada", 200),
        ("alice", 403),
        ("bob", 403),
        ("rita", 403),
        ("charlie", 403),
        ("nobody", 401),
    ],
)
def test_metrics_are_for_those_who_may_see_the_system(who: str, status: int, sign_in: SignIn) -> None:
    client = Client() if who == "nobody" else sign_in(factories.person(who))
    answer = client.get(reverse("metrics"))
    assert answer.status_code == status
    assert (b"interlock_runs" in answer.content) == (status == 200)
    assert client.post(reverse("metrics")).status_code == 405


def test_metrics_open_to_their_token_and_to_no_other(settings: Any) -> None:
    def ask(header: str) -> int:
        return Client().get(reverse("metrics"), headers={"Authorization": header}).status_code

    settings.METRICS_TOKEN = ""
    assert [ask("Bearer "), ask("Bearer"), ask("")] == [401, 401, 401]
    settings.METRICS_TOKEN = "a long enough token"
    assert [ask("Bearer another"), ask("Basic a long enough token"), ask("")] == [401, 401, 401]
    assert ask("Bearer a long enough token") == 200


def migrate_again() -> None:
    config = apps.get_app_config("approvals")
    post_migrate.send(
        sender=config, app_config=config, verbosity=0, interactive=False, using="default", apps=apps
    )


def holds(role: str, codename: str) -> bool:
    return Group.objects.get(name=role).permissions.filter(codename=codename).exists()


def test_a_right_that_is_new_is_given_once_to_the_roles_that_bring_it_and_never_again() -> None:
    Permission.objects.filter(codename="see_system").delete()
    Group.objects.get(name="auditor").permissions.clear()
    assert not holds("operator", "see_system")
    migrate_again()
    assert {role: holds(role, "see_system") for role in ("operator", "admin", "reviewer", "auditor")} == {
        "operator": True, "admin": True, "reviewer": False, "auditor": False,
    }  # fmt: skip
    assert not holds("auditor", "see_runs")
    Group.objects.get(name="operator").permissions.remove(Permission.objects.get(codename="see_system"))
    migrate_again()
    assert not holds("operator", "see_system")


def test_every_reading_failing_raises_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_: Any, **__: Any) -> None:
        raise OperationalError("away")

    for name in ("work", "workers", "database", "unpruned", "depths"):
        monkeypatch.setattr(readings, name, away)
    failing = [part.name for part in system.overview(db_now())["parts"] if part.failing]
    assert failing == ["Work and workers", "Sweeper and beat", "Broker", "Database", "Versions"]


@pytest.mark.parametrize("who", [*factories.ROLES, "nobody"])
def test_the_system_is_shown_to_those_who_may_see_it(who: str, sign_in: SignIn) -> None:
    client = Client() if who == "nobody" else sign_in(factories.person(who))
    before = world()
    answer = client.get(reverse("system"))
    may = who in ("olga", "ada")
    assert answer.status_code == {"nobody": 302}.get(who, 200 if may else 403)
    assert world() == before
    if who not in ("nobody", "charlie"):
        shown = [item["url_name"] for group in client.get("/").context["nav"] for item in group["items"]]
        assert ("system" in shown) is may
