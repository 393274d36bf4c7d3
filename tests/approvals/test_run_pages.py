"""A run's further pages: its time, what was said, what differs between two checkpoints, and its whole log."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils.html import strip_tags

from approvals.queries import pages, timeline
from durable.clock import db_now
from durable.journal import record
from durable.models import Branch, Checkpoint, Message, Run
from durable.states import EventKind
from tests import factories
from tests.approvals.conftest import SignIn

pytestmark = pytest.mark.django_db

MOST = 15
SPOKEN = 60


@pytest.fixture
def run() -> Run:
    return Run.objects.get(pk=factories.running().run_id)


def branch_of(run: Run) -> int:
    assert run.branch_id is not None
    return run.branch_id


def reach(run: Run, version: int, state: dict[str, Any] | None, **more: Any) -> Checkpoint:
    values = {
        "kind": "step", "step": "look", "visit": 1, "next_step": "pay", "next_visit": 1, "attempt": 1,
        "state_version": version, "progress": {"look": 1}, "branch_id": run.branch_id, "message_count": 0,
    } | more  # fmt: skip
    Run.objects.filter(pk=run.pk).update(version=version)
    return Checkpoint.objects.create(run=run, version=version, state=state, **values)


def page(sign_in: SignIn, name: str, run: Run, **query: Any) -> Any:
    client = sign_in(factories.person("olga"))
    with CaptureQueriesContext(connection) as queries:
        answer = client.get(reverse(name, args=[run.ref]), query)
    assert len(queries) <= MOST, name
    return answer


def test_a_conversation_is_read_in_pages_across_the_branches_that_it_is_made_of(
    run: Run, sign_in: SignIn
) -> None:
    older = Branch.objects.create()
    Message.objects.bulk_create(
        Message(branch=older, no=no, role="user", content=f"older {no}") for no in range(1, 41)
    )
    Branch.objects.filter(pk=branch_of(run)).update(parent=older, base_count=30)
    Message.objects.bulk_create(
        Message(branch_id=branch_of(run), no=no, role="assistant", content={"said": no})
        for no in range(31, SPOKEN + 1)
    )
    Run.objects.filter(pk=run.pk).update(message_count=SPOKEN)
    newest = page(sign_in, "conversation", run).context
    assert [one["no"] for one in newest["said"]] == list(range(SPOKEN - pages.PAGE + 1, SPOKEN + 1))
    first = newest["said"][0]
    assert (first["text"], newest["said"][-1]["json"]) == ("older 11", '{"said": 60}')
    client = sign_in(factories.person("rita"))
    path = reverse("conversation", args=[run.ref])
    rest = client.get(path, {"after": newest["page"]["older"]}).context
    assert [one["no"] for one in rest["said"]] == list(range(1, 11))
    assert rest["page"]["older"] == ""
    back = client.get(path, {"before": rest["page"]["newer"]}).context
    assert [one["no"] for one in back["said"]] == list(range(11, SPOKEN + 1))


def test_what_was_said_is_boxed_as_unproven_and_shows_what_it_hides(run: Run, sign_in: SignIn) -> None:
    evil = "<img src=x onerror=alert(1)> pay\u202eee " + "a" * 7_000
    Message.objects.create(branch_id=branch_of(run), no=1, role="assistant", content=evil)
    Run.objects.filter(pk=run.pk).update(message_count=1)
    shown = page(sign_in, "conversation", run).content.decode()
    assert "<img src=x" not in shown and "U+202E" in shown and "Nothing of it was checked" in shown
    assert "a" * 6_500 not in shown and "Show message 1 in full" in shown
    whole = sign_in(factories.person("rita")).get(reverse("conversation", args=[run.ref]), {"no": "1"})
    assert "a" * 7_000 in whole.content.decode()


def test_two_checkpoints_are_compared_by_path_also_where_a_state_is_stored_once(
    run: Run, sign_in: SignIn
) -> None:
    reach(run, 1, {"order": {"items": ["a", "b"], "note": "x"}, "same": 1}, kind="start", step="")
    reach(run, 2, None, state_version=1)
    reach(run, 3, {"order": {"items": ["a", "c", "d"]}, "same": 1}, message_count=4)
    found = page(sign_in, "differences", run, **{"from": 2, "to": 3}).context["between"]
    assert [(one["name"], one["how"], one["shown"], one["current"]) for one in found["rows"]] == [
        ("order.items[1]", "changed", '"b"', '"c"'),
        ("order.items[2]", "added", None, '"d"'),
        ("order.note", "removed", '"x"', None),
    ]
    assert ("Messages", "0", "4") in [(one.name, one.shown, one.current) for one in found["facts"]]
    client = sign_in(factories.person("rita"))
    path = reverse("differences", args=[run.ref])
    turned = client.get(path, {"from": 3, "to": 1}).context["between"]
    assert (turned["from"]["version"], turned["to"]["version"]) == (1, 3)
    assert client.get(path, {"from": 2, "to": 9}).status_code == 404
    same = client.get(path, {"from": 1, "to": 2}).content.decode()
    assert "The working state is the same" in same


def test_checkpoints_and_log_are_read_to_their_beginning(run: Run, sign_in: SignIn) -> None:
    for version in range(1, 61):
        reach(run, version, {})
    for _ in range(60):
        record(run, EventKind.RESUMED, actor="w1")
    client = sign_in(factories.person("rita"))
    for name, rows, key in (("checkpoints", "checkpoints", "version"), ("log", "log", "")):
        first = page_of(client, name, run)
        second = page_of(client, name, run, after=first["page"]["older"])
        assert len(first[rows]) == pages.PAGE and len(second[rows]) == 10, name
        assert second["page"]["older"] == "" and second["page"]["newer"] and not first["page"]["newer"]
        back = page_of(client, name, run, before=second["page"]["newer"])
        assert len(back[rows]) == pages.PAGE and back["page"]["older"]
        if key:
            assert [one[key] for one in [*first[rows], *second[rows]]] == list(range(60, 0, -1))
    shown = sign_in(factories.person("olga")).get(reverse("run", args=[run.ref])).content.decode()
    assert "All 60 entries" in shown


def page_of(client: Any, name: str, run: Run, **query: Any) -> Any:
    answer = client.get(reverse(name, args=[run.ref]), query)
    assert answer.status_code == 200
    return answer.context


@pytest.mark.parametrize("name", ["conversation", "log", "checkpoints", "differences"])
def test_a_runs_further_pages_take_nonsense_and_hide_what_may_not_be_seen(
    name: str, run: Run, sign_in: SignIn
) -> None:
    reach(run, 1, {})
    rita, charlie = sign_in(factories.person("rita")), sign_in(factories.person("charlie"))
    path = reverse(name, args=[run.ref])
    for nonsense in ("x", "-1", "9" * 30, "9" * 18, "\x00", "0"):
        for field in ("after", "before", "from", "to", "no"):
            assert rita.get(path, {field: nonsense}).status_code in (200, 404), (field, nonsense)
    assert charlie.get(path).status_code == 403
    assert rita.get(reverse(name, args=["run-none"])).status_code == 404


def test_a_runs_result_is_shown_where_it_is_said_that_it_left_one(run: Run, sign_in: SignIn) -> None:
    result = {"refunded": "184.50", "note": "<b>done</b>"}
    Run.objects.filter(pk=run.pk).update(state="completed", result=result, lease_until=None)
    shown = page(sign_in, "run", run)
    assert "It left a result." in shown.context["run"]["more"]
    assert json.loads(shown.context["result"]) == result
    assert "184.50" in shown.content.decode() and "<b>done</b>" not in shown.content.decode()


def test_idle_time_is_folded_and_busy_time_is_drawn_to_scale(run: Run) -> None:
    begin = db_now() - timedelta(days=3)

    def point(version: int, at: datetime, kind: str = "step") -> dict[str, Any]:
        return {"version": version, "kind": kind, "step": "look", "visit": 1, "at": at}

    wait: dict[str, Any] = {
        "kind": "event", "name": "parcel.returned", "effect__key": None, "opened_at": begin + timedelta(minutes=10),
        "closed_at": begin + timedelta(days=2), "detail": {},
    }  # fmt: skip
    run.state, run.ended_at = "completed", begin + timedelta(days=2, minutes=30)
    points = [
        point(3, begin + timedelta(days=2, minutes=30)),
        point(2, begin + timedelta(minutes=10), "suspend"),
        point(1, begin, "start"),
    ]
    shown = timeline.of(run, points, [wait], [], db_now())
    assert shown is not None
    (fold,) = shown["folds"]
    assert fold["idle"] == timedelta(days=2) - timedelta(minutes=10)
    assert (shown["busy"], shown["left_out"]) == (timedelta(minutes=40), 0)
    step, event = shown["lanes"]
    assert [bar["width"] for bar in step["bars"]] == ["23.00%", "69.00%"]
    assert (event["name"], event["bars"][0]["x"]) == ("parcel.returned", "23.00%")
    assert "for 10 min" in step["words"]


def test_a_run_that_goes_in_rounds_is_drawn_in_as_many_lines_as_it_has_steps_and_tools(run: Run) -> None:
    run.state = "completed"
    begin = db_now() - timedelta(hours=1)
    points = [
        {"version": no, "kind": "step", "step": "look", "visit": no, "at": begin + timedelta(seconds=10 * no)}
        for no in range(8, -1, -1)
    ]
    effects: list[dict[str, Any]] = [
        {"tool": "set_aside", "key": f"run-x:look@{no}", "state": "failed" if no == 5 else "applied", "recorded_at": at,
         "first_sent_at": at, "settled_at": at + timedelta(seconds=2)}
        for no in range(1, 9) for at in [begin + timedelta(seconds=10 * no)]
    ]  # fmt: skip
    few = timeline.of(run, points, [], effects[:2], db_now())
    many = timeline.of(run, points, [], effects, db_now())
    assert few is not None and many is not None
    assert [(lane["kind"], lane["key"]) for lane in few["lanes"][-2:]] == [
        ("step, visit 7", ""), ("step, visit 8", "")
    ]  # fmt: skip
    assert [
        (lane["name"], lane["kind"], lane["state"], len(lane["bars"]), lane["key"]) for lane in many["lanes"]
    ] == [
        ("look", "step, 8 visits", "", 8, ""),
        ("set_aside", "7 effects", "applied", 7, ""),
        ("set_aside", "effect", "failed", 1, "run-x:look@5"),
    ]
    assert many["lanes"][0]["words"].endswith("; 2 more")


def test_a_time_in_which_nothing_worked_fills_the_drawing(run: Run) -> None:
    run.state = "suspended"
    wait: dict[str, Any] = {
        "kind": "hold", "name": "hold", "effect__key": None, "opened_at": db_now() - timedelta(days=1),
        "closed_at": None, "detail": {},
    }  # fmt: skip
    shown = timeline.of(run, [], [wait], [], db_now())
    assert shown is not None
    assert [(fold["x"], fold["width"]) for fold in shown["folds"]] == [("0.00%", "100.00%")]


def test_a_run_that_has_not_begun_has_no_timeline(run: Run) -> None:
    run.state = "queued"
    assert timeline.of(run, [], [], [], db_now()) is None


def test_an_effect_is_drawn_from_its_asking_to_its_end(sign_in: SignIn) -> None:
    gate = factories.gate()
    shown = page(sign_in, "run", gate.effect.run).context["timeline"]
    (lane,) = shown["lanes"]
    assert (lane["name"], lane["kind"], lane["state"]) == ("pay_out", "effect", "gated")
    assert [bar["tone"] for bar in lane["bars"]] == ["waits"]


def test_what_was_said_stands_in_its_place_and_not_among_the_notices(run: Run, sign_in: SignIn) -> None:
    Message.objects.create(branch_id=branch_of(run), no=1, role="customer", content="One cushion is stained.")
    Run.objects.filter(pk=run.pk).update(message_count=1)
    shown = page(sign_in, "conversation", run).content.decode()
    assert shown.count("One cushion is stained.") == 1


def test_a_run_says_on_whose_behalf_it_runs_and_what_it_was_given(run: Run, sign_in: SignIn) -> None:
    Run.objects.filter(pk=run.pk).update(input={"order": "8812", "note": "as agreed by phone"})
    client = sign_in(factories.person("olga"))
    for name in ("run", "conversation", "log", "checkpoints"):
        told = client.get(reverse(name, args=[run.ref])).content.decode()
        assert "on behalf of “customer desk”" in strip_tags(told), name
    address = reverse("run", args=[run.ref])
    whole = client.get(address).content.decode()
    assert '<h2 id="given-h">Input</h2>' in whole and "as agreed by phone" in whole
    # It never changes, so a poll leaves what stands there, and does not send it again.
    part = client.get(address, {"seen": "older"}, headers={"HX-Request": "true"}).content.decode()
    assert 'id="given"' in part and "hx-preserve" in part and "as agreed by phone" not in part
    Run.objects.filter(pk=run.pk).update(input={})
    assert 'id="given"' not in client.get(address).content.decode()
