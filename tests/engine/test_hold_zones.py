"""The days of a hold's search are those of who set it, whoever resolves it, and stay the same days."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from approvals.models import Reader
from durable import holds
from durable.clock import db_now
from durable.models import LegalHold, Run
from tests.engine import people
from tests.engine.test_holds import held, paid

pytestmark = pytest.mark.django_db(transaction=True)

AUCKLAND = "Pacific/Auckland"
#: In March Auckland is 13 hours ahead: there it is the tenth from eleven o'clock of the ninth on.
NINTH, TENTH = datetime(2026, 3, 9, 20, tzinfo=UTC), datetime(2026, 3, 10, 20, tzinfo=UTC)


def paid_at(moment: datetime) -> Run:
    run = paid("8812")
    with connection.cursor() as cursor:
        cursor.execute("UPDATE durable_effect SET recorded_at = %s WHERE run_id = %s", [moment, run.pk])
    return run


def test_a_search_means_the_same_days_whenever_and_by_whomever_it_is_resolved() -> None:
    theirs, later = paid_at(NINTH), paid_at(TENTH)
    with timezone.override(AUCKLAND):
        holds.set_on_search("order:8812 from:2026-03-10 to:2026-03-10", actor="rita", reason="a claim")
    assert held() == {theirs.ref}
    once_more = paid_at(NINTH)
    assert timezone.get_current_timezone_name() == "UTC"
    assert holds.find_again() == []
    assert held() == {theirs.ref, once_more.ref} and later.ref not in held()


def test_a_hold_of_before_zones_were_kept_goes_on_in_that_of_the_installation() -> None:
    theirs, later = paid_at(NINTH), paid_at(TENTH)
    holds.set_on_search("order:8812 from:2026-03-10 to:2026-03-10", actor="rita", reason="a claim")
    hold = LegalHold.objects.get()
    hold.zone = ""
    assert holds.zone(hold) == ZoneInfo("UTC")
    assert held() == {later.ref} and theirs.ref not in held()


def rita() -> Client:
    """An auditor in Auckland."""
    Reader.objects.create(person=people.person("rita"), zone=AUCKLAND)
    client = Client()
    client.force_login(people.person("rita"))
    return client


@pytest.mark.parametrize("word", ["today", "yesterday"])
def test_a_day_that_passes_by_is_written_down_as_the_day_that_it_is_for_who_sets_the_hold(word: str) -> None:
    client, run = rita(), paid("8812")
    before = db_now()
    given = {"scope": "search", "about": f'order:"8812" to:{word}', "reason": "a claim"}
    page = client.post(reverse("hold-orders"), given, follow=True).content.decode()
    day = before.astimezone(ZoneInfo(AUCKLAND)).date()
    if word == "yesterday":
        day = day.fromordinal(day.toordinal() - 1)
    hold = LegalHold.objects.get()
    assert hold.zone == AUCKLAND
    assert holds.words(hold).search == f'order:"8812" to:{day}'
    assert f"to:{day}" in page and f"in days of {AUCKLAND}" in page
    assert held() == ({run.ref} if word == "today" else set())


def test_the_list_and_the_log_say_in_which_zone_the_days_of_a_search_are_meant() -> None:
    with timezone.override(AUCKLAND):
        holds.set_on_search("order:8812 to:2026", actor="rita", reason="a claim")
    holds.set_on_run(paid("8813").ref, actor="rita", reason="a claim")
    client = rita()
    page = client.get(reverse("legal-holds")).content.decode()
    assert page.count(f"what is found, in days of {AUCKLAND}, by") == 1
    rows = client.get(reverse("acts"), {"q": "kind:legal-hold-set"}).context["acts"]
    assert [row["details"] for row in rows] == [["on a run"], [f"on a search, in days of {AUCKLAND}"]]
