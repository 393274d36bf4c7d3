"""Erasing a person's data: nothing of it is left anywhere, everything else is, and the ledger still verifies."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from django.test import Client
from django.urls import reverse

from approvals import bulk, moments, run_views
from approvals.models import BulkAct, RunView
from approvals.states import Verdict
from durable import concerned, erasing, holds, indexing, runs, steering, vault
from durable.concerned import Called
from durable.errors import Conflict
from durable.ledger import outcome
from durable.models import (
    Effect,
    Erasure,
    ErasureRun,
    LedgerEvent,
    Run,
    Signal,
    SubjectName,
    Wait,
)
from durable.states import EraseReason, RunState
from durable.vendor import Receipt
from tests.engine import desk, people, rooted
from tests.engine.erasure import (
    CANARY,
    MAIL,
    ORDER,
    ZOE,
    by_ann,
    content,
    database,
    erase,
    found,
    holds_canary,
    kept_outside,
    left,
    pages,
    sums,
    told_by_zoe,
)
from tests.engine.rooted import said
from tests.engine.scenes import WHY
from tests.vendors import Vendor

__all__ = ["kept_outside"]

pytestmark = pytest.mark.django_db(transaction=True)


def test_nothing_of_somebody_is_left_anywhere_once_they_are_erased(
    vendor: Vendor, kept_outside: Path
) -> None:
    hers, other = told_by_zoe(vendor), by_ann(vendor)
    olga, ada = people.person("olga"), people.person("ada")
    run_views.save(olga, "hers", f"subject:{ORDER}")
    acted = bulk.draft(olga, "retries", query=None, refs=[hers[1].ref])
    BulkAct.objects.filter(pk=acted.pk).update(reason=f"{MAIL} has called")
    Effect.objects.filter(run=hers[0], tool="send_email").update(failure=f"550: no box {MAIL}")
    indexing.catch_up()
    rooted.root_and_keep()
    assert holds_canary(database())
    events, spent = LedgerEvent.objects.filter(run_ref=other.ref).count(), sums()
    untouched = content(other)

    made = erase()

    assert made.done_at is not None and not RunView.objects.exists()
    assert left() == []
    assert not holds_canary(kept_outside.read_text())
    assert [address for address, page in pages(ada, hers).items() if holds_canary(page)] == []
    # All else is as it was: somebody else's run, what was moved, and every chain.
    assert content(other) == untouched and sums() == spent
    assert LedgerEvent.objects.filter(run_ref=other.ref).count() == events
    rooted.root_and_keep()
    code, lines = said("verify", "--anchors", str(rooted.kept()))
    assert (code, lines.splitlines()[-1]) == (0, "everything holds")


def test_a_part_of_the_name_finds_nothing_and_the_whole_name_says_when_and_why(vendor: Vendor) -> None:
    told_by_zoe(vendor)
    indexing.catch_up()
    erase()
    client = Client()
    client.force_login(people.person("rita"))
    part = client.get(reverse("ledger"), {"q": f"customer:*{CANARY[:5]}*"})
    assert list(part.context["names"]) == [] and not SubjectName.objects.exists()
    whole = client.get(reverse("ledger"), {"q": f"customer:{MAIL}"})
    assert len(whole.context["effects"]) == 1
    (told,) = whole.context["erased"]
    done = Erasure.objects.get().done_at
    assert done is not None and told == f"erased on {moments.day(done)}, the person asked for it"
    assert told in whole.content.decode()
    assert f"(erased on {moments.day(done)})" in whole.content.decode()


def test_its_pages_say_when_and_why_in_place_of_the_data_and_offer_no_act(vendor: Vendor) -> None:
    paid, lost = told_by_zoe(vendor)
    erase()
    told = pages(people.person("ada"), [paid, lost])
    effect = Effect.objects.filter(run=paid).earliest("pk")
    for address in (reverse("run", args=[paid.ref]), reverse("effect", args=[effect.key])):
        assert "the personal data of this run was erased on" in told[address], address
        assert "the person asked for it" in told[address]
    client = Client()
    client.force_login(people.person("olga"))
    assert client.get(reverse("run", args=[lost.ref])).context["acts"] == []
    for act in (
        lambda: steering.retry(lost.ref, **WHY),
        lambda: steering.fork(paid.ref, 1, **WHY),
        lambda: runs.compensate(paid.ref, **WHY),
    ):
        with pytest.raises(Conflict, match="has been erased"):
            act()


def test_the_log_says_who_erased_what_and_why_and_never_whom(vendor: Vendor) -> None:
    hers = told_by_zoe(vendor)
    made = erase()
    kinds = list(
        LedgerEvent.objects.filter(run_ref=f"erasure:{made.pk}").order_by("no").values_list("kind", "actor")
    )
    assert kinds == [("erasure asked", "ada"), ("erasure ended", "ada")]
    asked = json.loads(LedgerEvent.objects.get(kind="erasure asked").body)
    assert (asked["subjects"], asked["runs"]) == ([one.hash for one in ZOE], 2)
    for run in hers:
        event = LedgerEvent.objects.get(run_ref=run.ref, kind="erased")
        body = json.loads(event.body)
        assert (event.actor, body["why"], body["erasure"]) == ("ada", EraseReason.ASKED.value, made.pk)


def test_a_run_on_its_way_waits_and_goes_by_itself_once_it_has_ended(vendor: Vendor) -> None:
    desk.order(vendor, amount="140.00", name=ORDER)
    run = desk.drive(desk.start(ORDER))
    made = erase()
    run.refresh_from_db()
    item = ErasureRun.objects.get(run=run)
    assert (item.state, item.why, made.done_at) == ("waiting", f"{run.ref} is suspended", None)
    assert run.input["order"] == ORDER and vault.open_key(run.pk, run.ref)

    people.say(run, Verdict.REJECT, words="no")
    assert desk.drive(run).state == RunState.COMPLETED
    Erasure.objects.update(due_at=made.asked_at)
    for pk in erasing.due():
        erasing.carry_on(pk)
    run.refresh_from_db()
    made.refresh_from_db()
    assert made.done_at is not None and run.input == {}


def test_what_is_under_a_legal_hold_waits_until_that_is_lifted(vendor: Vendor) -> None:
    hers = told_by_zoe(vendor)[0]
    hold = holds.set_on_run(hers.ref, **WHY)
    assert erase().done_at is None
    assert ErasureRun.objects.get(run=hers).why == f"{hers.ref} is under a legal hold"
    assert vault.open_key(hers.pk, hers.ref)
    holds.lift(hold.pk, actor="olga", reason=f"{MAIL} has settled")
    made = erase()
    assert made.done_at is not None
    assert left() == []


def test_a_run_with_something_in_doubt_or_before_a_person_waits(vendor: Vendor) -> None:
    hers = told_by_zoe(vendor)[0]
    effect = Effect.objects.filter(run=hers, state="applied").get()
    outcome.late(hers.ref, effect.key, "w1:1", Receipt("re_second", key=effect.key), "")
    made = erase()
    why = ErasureRun.objects.get(run=hers).why
    assert "a person must look" in why and made.done_at is None


def test_a_name_is_found_however_it_is_written_down(vendor: Vendor) -> None:
    """JSON writes quotes and backslashes otherwise; a start key and a vendor's words are no JSON."""
    odd = Called("customer", 'HOUSE\\zoe"q')
    desk.order(vendor, name="1")
    by_input, by_key, by_refusal = (
        runs.start("RefundDesk", desk.ticket("1", text=text), actor="tests", key=key)
        for text, key in ((f"I am {odd.text}.", "a"), ("hello", f"t-{odd.text}"), ("hello", "c"))
    )
    by_refusal = desk.drive(by_refusal)
    Effect.objects.filter(run=by_refusal).update(failure=f"refused: {odd.text} has no card")
    assert {one.id for one in concerned.find([odd]).runs} == {by_input.pk, by_key.pk}
    every = {by_input.pk, by_key.pk, by_refusal.pk}
    assert {one.id for one in concerned.find([odd], thoroughly=True).runs} == every


def test_what_waits_and_answers_say_of_somebody_goes_too(vendor: Vendor) -> None:
    told_by_zoe(vendor)
    run = Run.objects.filter(pk__in=[one.id for one in found().now]).earliest("pk")
    said = {"said": f"{CANARY} called"}
    wait = Wait.objects.create(
        run=run, kind="event", name="call", state="resolved", detail=said, answer=said, waits_for="olga"
    )
    Signal.objects.create(run=run, name="call", payload=said)
    erase()
    wait.refresh_from_db()
    assert (wait.detail, wait.answer) == ({}, None)
    assert not Signal.objects.filter(run=run).exists()


@pytest.mark.parametrize("state", ["pending", "in doubt"])
def test_an_effect_that_is_not_settled_keeps_its_run_though_nobody_is_asked_about_it(
    vendor: Vendor, state: str
) -> None:
    told_by_zoe(vendor)
    run = Run.objects.filter(pk__in=[one.id for one in found().now], effects__state="applied").earliest("pk")
    Effect.objects.filter(run=run, state="applied").update(state=state)
    assert run.pk in {one.id for one in found().later}
    erase()
    assert vault.open_key(run.pk, run.ref)
