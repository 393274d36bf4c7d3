"""The page for authors is true: its blocks are one module, and its agent, rule and test do what the page says."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from approvals import policy
from approvals.states import Verdict
from durable import recovery, runs, tools, waits
from durable.gatekeeper import Question
from durable.models import Effect, Run
from durable.states import EffectClass
from durable.vendor import Call, Receipt
from tests.engine import desk, people

pytestmark = pytest.mark.django_db(transaction=True)
PAGE = (Path(__file__).resolve().parents[2] / "docs/agents.md").read_text()
WRITTEN = "\n\n".join(re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL))


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """What the page's blocks make together, with its rule in force."""
    module = ModuleType("agents_page")
    with tools.isolated():
        exec(compile(WRITTEN, "docs/agents.md", "exec", dont_inherit=True), vars(module))
        monkeypatch.setattr(policy, "RULES", (*policy.RULES, module.dear_labels))
        yield module


def kinds(run: Run) -> dict[str, str]:
    return dict(Effect.objects.filter(run=run).values_list("tool", "state"))


def test_the_agent_of_the_page_sends_a_parcel_and_waits_for_its_arrival(page: Any) -> None:
    run = page.parcel_is_sent("12.50")
    assert run.state == "suspended" and run.input["price"] == "12.50"
    assert page.delivered(run.ref, "dhl-1", "ann") and not page.delivered(run.ref, "dhl-1", "ann")
    desk.time_passes(hours=1)
    recovery.sweep()
    desk.drive(run)
    assert desk.drive(run).result == {"label": "label-8812", "to": "ann"}
    assert len(page.BOOK) == 2


def test_the_rule_of_the_page_gates_what_is_dear_and_a_no_reaches_the_step(page: Any) -> None:
    asked = {"order": "8812", "customer": "ann", "price": "20.01"}
    run = desk.drive(runs.start("Courier", asked, actor="tests"))
    (gate,) = people.gates(run)
    assert gate.reason == "a label above 20 EUR needs a person"
    assert kinds(run) == {"buy_label": "gated", "book_van": "applied"}
    people.say(run, Verdict.REJECT, words="no")
    desk.drive(run)
    assert desk.drive(run).state == "failed" and "it can't be sent" in run.error


def test_the_rule_of_the_page_lets_out_what_people_said_yes_to(page: Any) -> None:
    assert kinds(page.parcel_is_sent("20.01")) == {"buy_label": "applied", "book_van": "applied"}


def test_what_the_rule_of_the_page_refuses_no_yes_lets_out(page: Any) -> None:
    asked = {"order": "8812", "customer": "ann", "price": "200.01"}
    run = desk.drive(runs.start("Courier", asked, actor="tests"))
    assert people.gates(run)[0].reason == "labels above 200 EUR are not bought"
    people.say(run)
    desk.drive(run)
    assert kinds(run)["buy_label"] == "gated" and people.gates(run)[0].round == 2
    assert [one.id for one in page.BOOK.values()] == ["van-8812"]


def test_the_undo_of_the_page_runs_when_the_run_is_cancelled_with_undo(page: Any) -> None:
    run = page.parcel_is_sent("12.50")
    runs.cancel(run.ref, undo=True, actor="olga", reason="wrong address")
    desk.drive(run)
    assert desk.drive(run).state == "partly compensated"
    assert "cancelled-van-8812" in [one.id for one in page.BOOK.values()]


def test_the_step_of_the_page_goes_on_where_a_run_stands_at_its_old_name(page: Any) -> None:
    assert page.Courier.at("ship").name == "send"


def test_the_classes_of_the_pages_tools_follow_from_their_facts(page: Any) -> None:
    found = [tools.get(name).effect_class for name in ("read_stock", "buy_label", "book_van")]
    assert found == [EffectClass.READ, EffectClass.IDEMPOTENT, EffectClass.COMPENSABLE]


@pytest.mark.parametrize("kind", [Call, Receipt, Question], ids=lambda kind: kind.__name__)
def test_the_page_names_every_field(kind: Any) -> None:
    assert [one.name for one in dataclasses.fields(kind) if f"`{one.name}`" not in PAGE] == []


def test_the_page_says_how_an_event_is_delivered() -> None:
    taken = inspect.signature(waits.deliver).parameters.values()
    names = [one.name for one in taken if one.kind is not one.KEYWORD_ONLY]
    assert f"waits.deliver({', '.join(names)}, *, dedupe)" in PAGE
