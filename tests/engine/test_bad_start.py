"""Bad input at the door of a run: each is refused with the field and the rule, and nothing is written."""

from __future__ import annotations

import io
import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from durable import runs
from durable.errors import Conflict, Invalid
from durable.models import Budget, LedgerEvent, Run
from tests.engine import agents
from tests.together import at_once

pytestmark = pytest.mark.django_db(transaction=True)
GOOD: dict[str, Any] = {"order": "8812", "wants": "money"}


def nested(depth: int) -> Any:
    value: Any = "deep"
    for _ in range(depth):
        value = [value]
    return value


def nothing() -> bool:
    return not (Run.objects.exists() or Budget.objects.exists() or LedgerEvent.objects.exists())


BAD = {
    "missing": ({"wants": "money"}, "input.order"),
    "unknown field": ({**GOOD, "more": 1}, "input.more"),
    "wrong word": ({**GOOD, "wants": "everything"}, "input.wants"),
    "zero": ({**GOOD, "amount": "0"}, "input.amount"),
    "negative": ({**GOOD, "amount": "-1"}, "input.amount"),
    "NaN": ({**GOOD, "amount": "NaN"}, "input.amount"),
    "infinity": ({**GOOD, "amount": "Infinity"}, "input.amount"),
    "decimals": ({**GOOD, "amount": "40.005", "currency": "EUR"}, "input.amount"),
    "yen": ({**GOOD, "amount": "40.5", "currency": "JPY"}, "input.amount"),
    "decimals of any": ({**GOOD, "amount": "1.00005"}, "input.amount"),
    "huge": ({**GOOD, "amount": "90071992547409.93", "currency": "EUR"}, "input.amount"),
    "huger": ({**GOOD, "amount": "1E+400"}, "input.amount"),
    "currency": ({**GOOD, "currency": "EURO"}, "input.currency"),
    "small letters": ({**GOOD, "currency": "eur"}, "input.currency"),
    "NUL": ({**GOOD, "text": "a\x00b"}, "input.text"),
    "half": ({**GOOD, "text": "a\ud800"}, "input.text"),
    "float NaN": ({**GOOD, "amount": float("nan")}, "input.amount"),
    "10 MB": ({**GOOD, "text": "x" * 10_000_000}, "input"),
    "deep": (nested(1_000), "input"),
    "no object": ([], "input"),
}


@pytest.mark.parametrize(("given", "field"), BAD.values(), ids=BAD.keys())
def test_a_bad_input_is_refused_with_its_field_and_nothing_is_written(given: Any, field: str) -> None:
    with pytest.raises(Invalid) as refused:
        runs.start("RefundDesk", given, actor="tests")
    assert refused.value.field.split("[")[0] == field
    assert refused.value.rule
    assert nothing()


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"agent": "Nobody"}, "agent"),
        ({"agent": "a\x00"}, "agent"),
        ({"key": "k" * 256}, "key"),
        ({"key": ""}, "key"),
        ({"key": "a\x00"}, "key"),
        ({"key": 7}, "key"),
        ({"durability": "fast"}, "durability"),
        ({"actor": " "}, "actor"),
        ({"actor": "\ud800"}, "actor"),
    ],
)
def test_a_bad_agent_key_mode_or_actor_is_refused_and_nothing_is_written(
    more: dict[str, Any], field: str
) -> None:
    wanted = {"agent": "RefundDesk", "input": GOOD, "actor": "tests", **more}
    with pytest.raises(Invalid) as refused:
        runs.start(**wanted)
    assert refused.value.field == field
    assert nothing()


def test_a_doubled_start_is_one_run_and_another_one_under_the_key_a_conflict() -> None:
    one = runs.start("RefundDesk", GOOD, actor="tests", key="k" * 255)
    assert runs.start("RefundDesk", GOOD, actor="somebody else", key="k" * 255).pk == one.pk
    with pytest.raises(Conflict, match="use a new key"):
        runs.start("RefundDesk", {**GOOD, "order": "9"}, actor="tests", key="k" * 255)
    with pytest.raises(Conflict):
        runs.start("Looper", {}, actor="tests", key="k" * 255)
    assert Run.objects.count() == 1


def test_of_eight_starts_with_one_key_at_once_one_begins() -> None:
    begin = partial(runs.start, "RefundDesk", GOOD, key="same")
    begun = at_once(*(partial(begin, actor=f"client {number}") for number in range(8)))
    assert len({run.ref for run in begun}) == 1
    assert Run.objects.count() == 1
    assert Budget.objects.count() == 1


# The command


def command(*args: str) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    try:
        call_command("start", *args, stdout=out, stderr=err)
    except SystemExit as end:
        return int(end.code or 0), out.getvalue(), err.getvalue()
    return 0, out.getvalue(), err.getvalue()


def test_the_command_starts_a_run_and_prints_its_id(tmp_path: Path) -> None:
    file = tmp_path / "ticket.json"
    file.write_text(json.dumps(GOOD))
    for given in (json.dumps(GOOD), f"@{file}"):
        code, out, _ = command("RefundDesk", "--input", given, "--key", "k", "--actor", "mallory")
        assert (code, out.strip()) == (0, Run.objects.get().ref)
    assert Run.objects.get().requester == "mallory"


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ('{"order": "8812"}', "input.wants: "),
        ("{", "input: must be JSON"),
        ('{"a": NaN}', "input: must not hold NaN"),
        ('{"a": 1, "a": 2}', "input.a: must be given once"),
        ("[" * 1_000 + "]" * 1_000, "input: must be nested at most"),
        ("@/nowhere/at/all", "input: the file /nowhere/at/all can't be read"),
        (json.dumps({**GOOD, "text": "x" * 10_000_000}), "input: must be at most"),
        (json.dumps({**GOOD, "text": "\ud800"}), "input.text: must not hold half"),
    ],
)
def test_the_command_prints_field_and_rule_and_exits_with_2(given: str, told: str) -> None:
    code, out, err = command("RefundDesk", "--input", given)
    assert (code, out) == (2, "")
    assert err.startswith(told)
    assert nothing()


def test_the_command_tells_a_conflict_too() -> None:
    command("RefundDesk", "--input", json.dumps(GOOD), "--key", "k")
    code, _, err = command("RefundDesk", "--input", json.dumps({**GOOD, "order": "9"}), "--key", "k")
    assert code == 2
    assert "use a new key" in err


def test_an_operator_acts_on_a_run_from_a_shell() -> None:
    run = agents.start("Looper")
    out = io.StringIO()
    call_command("run", run.ref, "hold", "--reason", "wait", "--actor", "olga", stdout=out)
    assert out.getvalue() == f"{run.ref} suspended\n"
    with pytest.raises(SystemExit) as end:
        call_command("run", run.ref, "hold", "--reason", "again", "--actor", "olga", stderr=io.StringIO())
    assert end.value.code == 2


def test_a_fork_from_a_shell_may_begin_with_another_state_and_another_input() -> None:
    run = agents.start("Looper", {"turns": 2})
    call_command("run", run.ref, "hold", "--reason", "wait", "--actor", "olga", stdout=io.StringIO())
    begins = ("--checkpoint", "1", "--reason", "so", "--state", '{"turns": 1}')
    out, err = io.StringIO(), io.StringIO()
    call_command("run", run.ref, "fork", *begins, "--input", '{"turns": 4}', stdout=out)
    fork = Run.objects.get(parent=run)
    assert out.getvalue() == f"{fork.ref} queued\n"
    assert fork.input == {"turns": 4, "words": ""} and fork.checkpoints.get().state == {"turns": 1}
    with pytest.raises(SystemExit):
        call_command("run", run.ref, "fork", *begins, "--input", '{"turns": 0}', stderr=err)
    assert "input.turns" in err.getvalue() and Run.objects.count() == 2
