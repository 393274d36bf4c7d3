"""Moments in the reader's zone: named on each page, meant by days in searches, and moving nothing that is stored."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from django.db import connection
from django.db.models import Value
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from approvals import days, ledger_query, log_query, moments, run_query
from approvals.queries import finding
from approvals.queries.finding import Tonight
from approvals.queries.pictures import day_ends
from durable.clock import db_now
from durable.models import Effect, Recovery, Run, Stop
from durable.money import MAX_MINOR, from_minor
from tests import factories
from tests.approvals.conftest import SignIn

#: Days in which clocks change, with their length and when they begin: worked out by hand from the rules of each zone.
CHANGES = [
    ("Europe/Berlin", "2026-03-29", 23, "2026-03-28T23:00+00:00"),
    ("Europe/Berlin", "2026-10-25", 25, "2026-10-24T22:00+00:00"),
    ("Europe/Berlin", "2026-07-01", 24, "2026-06-30T22:00+00:00"),
    # At midnight: the first of these days begins at one o'clock, and the last hour of the second is there twice.
    ("America/Sao_Paulo", "2018-11-04", 23, "2018-11-04T03:00+00:00"),
    ("America/Sao_Paulo", "2018-02-17", 25, "2018-02-17T02:00+00:00"),
    # By half an hour.
    ("Australia/Lord_Howe", "2026-10-04", 23.5, "2026-10-03T13:30+00:00"),
    ("Australia/Lord_Howe", "2026-04-05", 24.5, "2026-04-04T13:00+00:00"),
]


@pytest.mark.parametrize(("zone", "day", "hours", "begins"), CHANGES)
def test_a_day_is_as_long_as_it_is_and_a_search_includes_its_ends(
    zone: str, day: str, hours: float, begins: str
) -> None:
    start = datetime.fromisoformat(begins)
    end = start + timedelta(hours=hours)
    with timezone.override(ZoneInfo(zone)):
        assert days.begins(date.fromisoformat(day)) == start
        assert day_ends(start) == day_ends(end - timedelta(seconds=1)) == end
        query = ledger_query.parse(f"from:{day} to:{day}", start)
        log = log_query.parse(f"from:{day} to:{day}")
        runs = run_query.parse(f"from:{day} to:{day}")
        assert (runs.start, runs.end) == (start, end)
    assert (query.start, query.end) == (start, end)
    with timezone.override(ZoneInfo(zone)):
        assert (log.begins, log.ends) == (start, end)


def test_the_hour_that_happens_twice_is_meant_twice_and_told_apart() -> None:
    with timezone.override(ZoneInfo("Europe/Berlin")):
        found = days.read("2026-10-25T02:30", datetime(2026, 10, 26, tzinfo=UTC))
        first, second = (datetime(2026, 10, 25, hour, 30, tzinfo=UTC) for hour in (0, 1))
        told = [moments.whole(at) for at in (first, second)]
    assert found is not None and (found.start, found.end) == (first, second + timedelta(minutes=1))
    assert told == ["25 Oct 2026, 02:30:00 CEST", "25 Oct 2026, 02:30:00 CET"]


@pytest.mark.django_db
@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/Sao_Paulo", "Australia/Lord_Howe", "UTC"])
def test_the_database_ends_the_readers_day_where_the_page_does(zone: str) -> None:
    factories.running()
    with timezone.override(ZoneInfo(zone)):
        by_page = day_ends(db_now())
    by_database = Run.objects.annotate(night=Tonight(Value(zone), Value(zone))).values_list(
        "night", flat=True
    )[0]
    assert by_database == by_page


@pytest.mark.django_db
def test_a_reader_chooses_a_zone_which_each_page_names_and_days_are_meant_in(sign_in: SignIn) -> None:
    rita = factories.person("rita")
    effect = factories.gate().effect
    client = sign_in(rita)
    assert "Days and times are those of <a" in client.get(reverse("ledger")).content.decode()
    posted = client.post(
        reverse("time-zone-choices"), {"zone": "Pacific/Kiritimati"}, follow=True
    ).content.decode()
    assert "Pacific/Kiritimati" in posted and "UTC+14:00 now" in posted
    assert client.post(reverse("time-zone-choices"), {"zone": "Mars/Olympus"}).status_code == 422
    noon = datetime(2024, 3, 9, 12, tzinfo=UTC)  # there it is the 10th
    with connection.cursor() as cursor:
        cursor.execute("UPDATE durable_effect SET recorded_at = %s WHERE id = %s", [noon, effect.pk])
    for browser in (client, sign_in(rita)):  # wherever they sign in
        page = browser.get(reverse("ledger"), {"q": "from:2024-03-10 to:2024-03-10"}).content.decode()
        assert effect.key in page and "10 Mar 2024, 02:00 +14" in page and "Pacific/Kiritimati</a>" in page
        assert effect.key not in browser.get(reverse("ledger"), {"q": "to:2024-03-09"}).content.decode()
    ada = sign_in(factories.person("ada"))
    other = ada.get(reverse("ledger"), {"q": "to:2024-03-09"}).content.decode()
    assert effect.key in other and "9 Mar 2024, 12:00 UTC" in other
    assert Effect.objects.get(pk=effect.pk).recorded_at == noon


@pytest.mark.django_db
def test_runs_are_found_by_the_days_of_the_reader_in_which_they_started() -> None:
    claims = [factories.running() for _ in range(3)]
    for day, claim in zip((8, 9, 10), claims, strict=True):
        Run.objects.filter(pk=claim.run_id).update(created_at=datetime(2026, 3, day, 12, tzinfo=UTC))
    with timezone.override(ZoneInfo("Pacific/Kiritimati")):  # there it is the next day, two o'clock
        for text, wanted in (
            ("from:2026-03-10 to:2026-03-10", {1}),
            ("to:2026-03-10", {0, 1}),
            ("from:2026-03-12", set()),
        ):
            found = {run.pk for part in finding.found(run_query.parse(text)) for run in part}
            assert found == {claims[place].run_id for place in wanted}, text


@pytest.mark.django_db
@pytest.mark.parametrize("ahead", [-3, 3])
def test_today_is_a_day_of_the_databases_clock_however_this_machines_own_goes(
    ahead: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = datetime.now(UTC) + timedelta(days=ahead)
    monkeypatch.setattr(timezone, "now", lambda: wrong)
    before = days.today(db_now())
    runs, log = run_query.parse("from:today to:today"), log_query.parse("from:today to:today")
    meant = {(days.begins(day), days.begins(days.after(day))) for day in (before, days.today(db_now()))}
    assert {(runs.start, runs.end), (log.begins, log.ends)} <= meant


@pytest.mark.django_db
def test_what_stopped_sending_is_told_in_the_readers_zone_on_each_page(sign_in: SignIn) -> None:
    at = datetime(2026, 3, 9, 23, 30, tzinfo=UTC)
    stop = Stop.objects.create(scope="all", actor="nadia", reason="a restore", at=at)
    Recovery.objects.create(since=at, actor="nadia", reason="a restore", stop=stop, done_at=at)
    olga = sign_in(factories.person("olga"))
    assert olga.post(reverse("time-zone-choices"), {"zone": "Asia/Kolkata"}).status_code == 303
    for name in ("home", "system"):
        page = olga.get(reverse(name)).content.decode()
        assert "10 Mar 2026, 05:00:00 IST" in page and "23:30 UTC" not in page, name


@pytest.mark.django_db
@pytest.mark.parametrize(("who", "status"), [("nobody", 302), ("charlie", 403), ("alice", 200)])
def test_the_page_is_for_whoever_has_a_role(who: str, status: int, sign_in: SignIn) -> None:
    client = Client() if who == "nobody" else sign_in(factories.person(who))
    assert client.get(reverse("time-zone")).status_code == status


def test_a_moment_of_another_year_says_so_in_pictures_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timezone, "now", lambda: datetime(2026, 7, 1, tzinfo=UTC))
    assert moments.whole_minute(datetime(2025, 11, 24, 16, 2, tzinfo=UTC)) == "24 Nov 2025, 16:02"
    assert moments.whole_minute(datetime(2026, 1, 5, 6, 7, tzinfo=UTC)) == "5 Jan, 06:07"


@pytest.mark.parametrize(
    ("currency", "text"),
    [("JPY", "9007199254740992"), ("EUR", "90071992547409.92"), ("KWD", "9007199254740.992")],
)
def test_the_largest_amount_of_each_kind_of_currency_is_exact(currency: str, text: str) -> None:
    assert f"{from_minor(MAX_MINOR, currency):f}" == text


def test_today_and_yesterday_are_the_readers_days_and_a_query_of_the_log_keeps_which_they_were() -> None:
    now = datetime(2026, 3, 30, 1, 30, tzinfo=UTC)  # 3:30 in Berlin, the day after the clocks went forward
    with timezone.override("Europe/Berlin"):
        found = [days.read(word, now) for word in ("today", "YESTERDAY")]
        query = log_query.parse("from:yesterday to:today", now)
    ends = [datetime(2026, 3, day, hour, tzinfo=UTC) for day, hour in ((28, 23), (29, 22), (30, 22))]
    assert found == [days.Stretch(*ends[1:]), days.Stretch(*ends[:2])]
    assert str(query) == "from:2026-03-29 to:2026-03-30"
