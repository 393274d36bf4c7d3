"""What a superuser has changed says so in its place: the pages around it stay."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.urls import reverse

from approvals.opened import TAMPERED
from approvals.states import Verdict
from durable import acts, stops
from durable.findings import Finding
from durable.models import ActWords, LedgerEvent, Sealed, SealKey
from tests import factories
from tests.approvals import stated
from tests.approvals.answering import answer
from tests.approvals.test_compensation_page import partly
from tests.engine import people
from tests.engine.rooted import forging

pytestmark = pytest.mark.django_db(transaction=True)

#: What is written into a box in place of what was sealed.
_FLIPPED = "set_byte({0}, 20, get_byte({0}, 20) # 1)"


def client(who: str = "rita") -> Client:
    made = Client()
    made.force_login(people.person(who))
    return made


def change(table: str, column: str, key: int, value: str | None = None) -> None:
    """Flip one byte of a column, or write `value` (SQL) into it."""
    with forging() as wire:
        wire.execute(
            f"UPDATE {table} SET {column} = {value or _FLIPPED.format(column)} WHERE id = {key}".encode()
        )


def listed(query: str = "") -> list[dict[str, Any]]:
    answer = client().get(reverse("acts"), {"q": query})
    assert answer.status_code == 200
    rows: list[dict[str, Any]] = answer.context["acts"]
    return rows


def test_changed_words_of_an_act_say_so_and_the_acts_around_them_stay() -> None:
    first, second = (
        stops.order("tool", name, actor="olga", reason="it pays twice") for name in ("pay_out", "post_letter")
    )
    words = ActWords.objects.get(event__run_ref=acts.about("stop", first.pk))
    change("durable_actwords", "box", words.pk)
    said = {row["objects"][0].label: row["said"] for row in listed("kind:stop-ordered")}
    assert said == {f"stop {first.pk}": TAMPERED, f"stop {second.pk}": "it pays twice"}


def test_a_changed_key_of_words_says_so_in_the_log_and_on_the_page_of_a_difference() -> None:
    one = stated.made(Finding.VENDOR_ALONE)
    rita = client()
    difference = one.found.get()
    rita.post(
        reverse("statement-explanations", args=[one.pk]), {"difference": difference.pk, "reason": "by hand"}
    )
    words = ActWords.objects.get(event__kind="difference explained")
    change("durable_actkey", "wrapped", words.key_id)
    assert [row["said"] for row in listed("kind:difference-explained")] == [TAMPERED]
    page = rita.get(reverse("statement", args=[one.pk]))
    assert page.status_code == 200 and "changed outside of the product" in page.content.decode()


NO_BODIES = ("'no json'", "'[1]'", "repeat('[', 100000)")


@pytest.mark.parametrize("body", NO_BODIES)
def test_a_body_that_is_no_json_says_so_and_the_acts_around_it_stay(body: str) -> None:
    gate = factories.gate()
    answer(people.person("alice"), gate, Verdict.REJECT, words="no receipt")
    stops.order("tool", "pay_out", actor="olga", reason="it pays twice")
    for event in LedgerEvent.objects.filter(kind__in=("stop ordered", "rejected")):
        change("durable_ledgerevent", "body", event.pk, body)
    found = {row["kind"]: row for row in listed()}
    assert TAMPERED in found["stop ordered"]["details"] and TAMPERED in found["rejected"]["text"]
    for name, about in (
        ("run", gate.effect.run.ref),
        ("effect", gate.effect.key),
        ("log", gate.effect.run.ref),
    ):
        page = client("olga").get(reverse(name, args=[about]))
        assert page.status_code == 200 and "changed outside of the product" in page.content.decode(), name


@pytest.mark.parametrize("body", NO_BODIES)
def test_a_way_back_of_which_an_event_is_no_json_is_shown_all_the_same(body: str) -> None:
    run, (first, _) = partly()
    event = LedgerEvent.objects.get(effect_key=first.key, kind="not undoable")
    change("durable_ledgerevent", "body", event.pk, body)
    page = client("olga").get(reverse("way-back", args=[run.ref]))
    assert page.status_code == 200 and [item["left"] for item in page.context["items"]] == [True, True]


def test_facts_of_another_shape_than_the_products_say_so() -> None:
    stops.order("tool", "pay_out", actor="olga", reason="it pays twice")
    event = LedgerEvent.objects.get(kind="stop ordered")
    change("durable_ledgerevent", "kind", event.pk, "'refused'")
    change("durable_ledgerevent", "body", event.pk, """'{"why": "no", "count": "many"}'""")
    (row,) = listed("kind:refused")
    assert TAMPERED in row["details"]


def test_a_changed_key_of_a_run_is_never_called_erased() -> None:
    gate = factories.gate(note="private")
    answer(people.person("alice"), gate, Verdict.REJECT, words="no receipt")
    run = gate.effect.run
    change("durable_sealkey", "wrapped", SealKey.objects.get(run=run).pk)
    rita = client()
    (row,) = [row for row in listed(f"about:{run.ref}") if row["kind"] == "rejected"]
    assert row["said"] == TAMPERED
    for kind, name in (("effect", gate.effect.key), ("run", run.ref)):
        page = rita.get(reverse(f"dossier-{kind}", args=[name]))
        (case,) = page.context["cases"]
        assert json.loads(case["payload"]) == TAMPERED
        assert [one["words"] for round in case["rounds"] for one in round["answers"]] == [TAMPERED]
        assert "erased" not in page.content.decode().partition("<main")[2]
        file = json.loads(rita.post(reverse(f"dossier-{kind}-files", args=[name])).content)
        assert [one["payload"] for one in file["effects"]] == [TAMPERED]


def test_one_changed_box_of_a_run_leaves_the_rest_of_its_dossier_readable() -> None:
    gate = factories.gate()
    answer(people.person("alice"), gate, Verdict.REJECT, words="no receipt")
    change("durable_sealed", "box", Sealed.objects.get(pk=gate.effect.payload_id).pk)
    (case,) = client().get(reverse("dossier-effect", args=[gate.effect.key])).context["cases"]
    assert json.loads(case["payload"]) == TAMPERED
    assert [one["words"] for round in case["rounds"] for one in round["answers"]] == ["no receipt"]


def test_a_body_is_read_in_no_parallel_plan_for_older_servers_catch_no_error_there() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT proparallel::text FROM pg_proc WHERE proname = 'durable_body'")
        assert cursor.fetchall() == [("u",)]
