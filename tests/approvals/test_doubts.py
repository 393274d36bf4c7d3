"""The in-doubt desk, "can't tell", and what an open form hears."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from durable import doubts
from durable.clock import db_now
from durable.models import Effect, LedgerEvent, Wait
from tests import factories
from tests.approvals.conftest import SignIn
from tests.approvals.test_verdicts import doubtful, say
from tests.logged import told

pytestmark = pytest.mark.django_db

HTMX = {"HX-Request": "true"}


def sent(effect: Effect, hours: float) -> Effect:
    at = db_now() - timedelta(hours=hours)
    Effect.objects.filter(pk=effect.pk).update(sends=1, first_sent_at=at, last_sent_at=at)
    effect.refresh_from_db()
    return effect


def asked(effect: Effect) -> Wait:
    found = doubts.question(effect)
    assert found is not None
    return found


def kinds(effect: Effect) -> list[str]:
    return [event.kind for event in LedgerEvent.objects.filter(effect_key=effect.key).order_by("no")]


@pytest.fixture
def large(settings: Any) -> Effect:
    """One in doubt that a single person may not settle."""
    settings.VERDICT_ALONE_LIMIT = 20
    return doubtful()


def test_the_desk_begins_with_the_key_that_grows_old_next(olga: Client) -> None:
    old, safe, hurry, older = (sent(doubtful(), hours) for hours in (20, 1, 11, 30))
    page = olga.get(reverse("doubts"))
    assert [one["key"] for one in page.context["doubts"]] == [hurry.key, safe.key, older.key, old.key]
    assert page.context["doubts"][0]["safe"]["words"] in ("59 min left", "1 h left")
    assert page.context["doubts"][2]["safe"]["words"] == "too old to repeat"


def test_the_menu_counts_exactly_what_the_desk_lists(olga: Client) -> None:
    for wanted in (1, 2, 3):
        doubtful()
        page = olga.get(reverse("doubts"))
        (item,) = [i for group in page.context["nav"] for i in group["items"] if i["url_name"] == "doubts"]
        assert item["count"] == str(wanted) == page.context["total"] == str(len(page.context["doubts"]))


def test_pages_of_the_desk_skip_and_double_nothing(olga: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("approvals.queries.pages.PAGE", 2)
    effects = [sent(doubtful(), hours) for hours in (1, 11, 20, 20, 30)]
    page = olga.get(reverse("doubts"))
    seen = [one["key"] for one in page.context["doubts"]]
    while page.context["page"]["older"]:
        page = olga.get(reverse("doubts"), {"after": page.context["page"]["older"]})
        seen += [one["key"] for one in page.context["doubts"]]
    assert sorted(seen) == sorted(effect.key for effect in effects)
    assert seen[0] == effects[1].key and seen[-1] in (effects[2].key, effects[3].key)


def test_an_empty_desk_says_what_would_appear_there(olga: Client) -> None:
    assert "Nothing is in doubt" in olga.get(reverse("doubts")).content.decode()


def test_a_poll_of_an_unchanged_desk_swaps_nothing(olga: Client) -> None:
    effect = doubtful()
    version = olga.get(reverse("doubts")).context["version"]
    assert olga.get(reverse("doubts"), {"seen": version}, headers=HTMX).status_code == 204
    doubts.heard(effect, "nothing of ours", None, "")
    answer = olga.get(reverse("doubts"), {"seen": version}, headers=HTMX)
    assert answer.status_code == 200 and b"nothing of ours" in answer.content


def test_who_cannot_tell_leaves_it_with_an_owner_and_a_time(olga: Client) -> None:
    effect = doubtful()
    assert say(olga, effect, "can't tell", within="3600").status_code == 303
    effect.refresh_from_db()
    assert effect.state == "in doubt" and kinds(effect)[-1] == "left in doubt"
    (row,) = olga.get(reverse("doubts")).context["doubts"]
    assert row["owner"] == "Olga" and timedelta(minutes=58) < row["look_at"] - db_now() < timedelta(hours=1)
    assert "Left in doubt with" in olga.get(reverse("effect", args=[effect.key])).content.decode()


def test_only_somebody_who_may_settle_can_be_its_owner(olga: Client) -> None:
    effect = doubtful()
    factories.person("rita")
    assert say(olga, effect, "can't tell", owner="rita").status_code == 422
    assert "left in doubt" not in kinds(effect)


@pytest.mark.parametrize("amount", ["abc", "0", "-5", "NaN", "1.234", "1e3"])
def test_it_happened_refuses_an_amount_that_is_none(amount: str, olga: Client) -> None:
    effect = doubtful()
    assert say(olga, effect, "happened", receipt="po_99", amount=amount).status_code == 422
    effect.refresh_from_db()
    assert effect.state == "in doubt" and "verdict" not in kinds(effect)


@pytest.mark.parametrize("amount", ["twenty", "NaN", "-25", "0", "25.001"])
def test_a_candidate_without_a_real_amount_proves_nothing(amount: str, olga: Client) -> None:
    effect = doubtful()
    wait = asked(effect)
    candidates = [{**wait.detail["candidates"][0], "amount": amount}]
    Wait.objects.filter(pk=wait.pk).update(detail={**wait.detail, "candidates": candidates})
    assert say(olga, effect, "happened", receipt="po_77").status_code == 422
    effect.refresh_from_db()
    assert effect.state == "in doubt"


def test_another_amount_that_moved_is_what_is_spent(olga: Client) -> None:
    effect = doubtful()
    assert say(olga, effect, "happened", receipt="po_99", amount="24,50").status_code == 303
    event = LedgerEvent.objects.get(effect_key=effect.key, kind="adopted")
    assert '"amount_minor":2450' in event.body


def test_an_open_form_hears_that_somebody_was_faster(olga: Client, sign_in: SignIn) -> None:
    effect = doubtful()
    address = reverse("effect", args=[effect.key])
    seen = olga.get(address).context["verdicts"]["seen"]
    poll = {"part": "standing", "seen": seen}
    assert olga.get(address, poll, headers=HTMX).status_code == 204
    doubts.leave(effect.key, actor="otto", reason="later", owner="otto", within=timedelta(hours=1))
    assert olga.get(address, poll, headers=HTMX).status_code == 204
    say(olga, effect, "happened", receipt="po_77")
    told = olga.get(address, poll, headers=HTMX)
    assert told.status_code in (200, 286) and b"Somebody was faster: it is applied" in told.content


def test_a_verdict_on_what_no_longer_stands_so_is_refused(
    olga: Client, large: Effect, sign_in: SignIn
) -> None:
    seen = olga.get(reverse("effect", args=[large.key])).context["verdicts"]["seen"]
    say(olga, large, "happened", receipt="po_77")
    answer = say(olga, large, "did not", seen=seen)
    assert (
        answer.status_code == 409 and "no longer stands as your page showed it" in answer.context["problem"]
    )
    assert answer.context["verdicts"]["proposed"]["said"] == "happened"
    assert kinds(large).count("verdict proposed") == 1


def test_asking_again_makes_the_look_up_due_now(olga: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    effect = doubtful()
    Effect.objects.filter(pk=effect.pk).update(next_look_at=db_now() + timedelta(hours=1))
    assert olga.post(reverse("look-ups", args=[effect.key])).status_code == 409  # its tool has no look-up
    monkeypatch.setattr(factories.pay_out, "lookup_function", lambda call: None)
    assert olga.post(reverse("look-ups", args=[effect.key])).status_code == 303
    effect.refresh_from_db()
    assert effect.next_look_at is not None and effect.next_look_at <= db_now()
    assert [(act.actor, act.concerns) for act in told("look-up asked")] == [("olga", effect.key)]


def test_with_nothing_found_words_stand_where_blank_cells_would(olga: Client) -> None:
    effect = doubtful()
    wait = asked(effect)
    Wait.objects.filter(pk=wait.pk).update(detail={"sentence": "Nothing of ours."})
    page = olga.get(reverse("effect", args=[effect.key])).content.decode()
    assert "has shown nothing that could be it" in page and "That is no proof" in page


def test_our_own_effects_of_the_same_amount_and_subject_stand_beside_it(olga: Client) -> None:
    twin, effect = doubtful(), doubtful()
    page = olga.get(reverse("effect", args=[effect.key]))
    assert [one["key"] for one in page.context["evidence"]["alike"]] == [twin.key]


def test_the_page_of_one_in_doubt_asks_few_queries(olga: Client, large: Effect) -> None:
    say(olga, large, "happened", receipt="po_77")
    doubtful()
    for address in (reverse("effect", args=[large.key]), reverse("doubts")):
        olga.get(address)
        with CaptureQueriesContext(connection) as queries:
            olga.get(address)
        asked_for = [query["sql"] for query in queries if "SAVEPOINT" not in query["sql"]]
        assert len(asked_for) <= 15, "\n".join(asked_for)
