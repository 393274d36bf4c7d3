"""The demonstration: its people can sign in, the refund desk accepts its tickets, its gates are bounded."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import Group, User

from durable import plan, runner, runs
from durable.models import Run, Wait
from durable.states import RunState, WaitKind
from local import demo, keys, tickets
from local.vendor import Vendor as Client
from tests.vendors import Vendor, vendor, vendor_process

__all__ = ["vendor", "vendor_process"]
pytestmark = pytest.mark.django_db(transaction=True)


def test_there_is_somebody_of_each_role_and_the_lines_say_how_to_sign_in(settings: Any) -> None:
    password = keys.load(settings.INTERLOCK_DATA)["demo"]

    lines = demo.people()

    roles = {user.groups.get().name for user in User.objects.all()}
    assert roles == {"reviewer", "operator", "auditor", "admin"}
    for user in User.objects.all():
        assert user.check_password(password)
        assert user.username in lines[0]
    assert password in lines[1]


def test_the_lines_say_who_can_sign_in_as_people_have_left_it_and_without_the_demo_whom_to_switch_off() -> (
    None
):
    assert demo.no_demo() == ["Nobody can sign in yet: manage.py person NAME --new --role admin"]
    demo.people()
    User.objects.filter(username="jonas").update(is_active=False)
    sven = User.objects.get(username="sven")
    sven.groups.set([Group.objects.get(name="auditor")])
    line, _ = demo.people()
    assert "sven (auditor)" in line and "jonas" not in line and "marta (reviewer)" in line
    assert "marta, sven, rita, ada, noor" in demo.no_demo()[0]
    User.objects.exclude(username="jonas").update(password="!")
    assert demo.no_demo() == []


def test_every_scene_ends_or_waits_and_none_of_them_is_stuck(vendor: Vendor) -> None:
    client = Client(vendor.url)
    runs = [demo.write_ticket(client, scene) for scene in tickets.SCENES if scene.fault != "hang"]

    for run in runs:
        runner.drive(run.ref)
        run.refresh_from_db()

    assert {run.state for run in runs} <= {RunState.COMPLETED, RunState.SUSPENDED, RunState.FAILING}
    kinds = set(Wait.objects.values_list("kind", flat=True))
    assert kinds <= {WaitKind.GATE.value, WaitKind.TIMER.value}
    assert {one["currency"] for one in vendor.book("payments")} == {"EUR", "KWD"}
    assert demo.open_gates() == sum(
        scene.waits for scene in tickets.SCENES if scene.fault == "" and scene.status == "delivered"
    )


def test_the_example_of_the_readme_is_about_an_order_that_the_demonstration_has(
    vendor: Vendor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demo, "Vendor", lambda url: Client(vendor.url))
    monkeypatch.setattr(demo, "BURST", 1)
    monkeypatch.setattr("local.demo.time.sleep", _stop)
    with pytest.raises(_Stopped):
        demo.stream()

    (written,) = re.findall(r"start RefundDesk --key \S+ --input '(.*)'", Path("README.md").read_text())
    run = runs.start("RefundDesk", json.loads(written), actor="me")
    runner.drive(run.ref)
    run.refresh_from_db()
    assert run.state == RunState.COMPLETED and "refunded 40.00 EUR" in run.result["done"]


class _Stopped(Exception):
    """The stream was to pause."""


def _stop(_seconds: float) -> None:
    raise _Stopped


def test_with_enough_gates_open_no_ticket_is_written_that_would_need_a_person(
    vendor: Vendor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demo, "MOST_OPEN_GATES", 1)
    client, scenes = Client(vendor.url), demo._endless()
    waiting = demo.write_ticket(client, next(scenes))
    runner.drive(waiting.ref)

    following = [next(scenes) for _ in range(2 * len(tickets.SCENES))]

    assert demo.open_gates() == 1
    assert not any(scene.waits for scene in following)


def test_where_the_desk_is_not_among_the_agents_no_ticket_comes_and_it_is_said_once(
    vendor: Vendor, settings: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Over(Exception):
        """The process is told to end."""

    def end(_: object) -> None:
        raise Over

    settings.SHOP_API_BASE = vendor.url
    monkeypatch.setattr("local.demo.Event.wait", end)
    monkeypatch.setattr(plan, "_agents", {})
    with pytest.raises(Over):
        demo.stream()
    said = capsys.readouterr().out
    assert (
        said.count("no tickets come") == 1 and "name durable.agents.refund_desk in INTERLOCK_AGENTS" in said
    )
    assert not Run.objects.exists()
