"""The oracles of chaos find nothing in a true history, and each finds what is planted for it."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from proof.chaos.history import History
from proof.chaos.oracles import ORACLES
from tests.proof import chaotic

Row = dict[str, Any]
_made: list[History] = []


@pytest.fixture
def true(request: pytest.FixtureRequest, tmp_path: Path) -> History:
    """The history of two runs that the product has really executed; made once, given out as a copy."""
    if not _made:
        request.getfixturevalue("db")
        _made.append(chaotic.made(request.getfixturevalue("vendor"), tmp_path))
    return deepcopy(_made[0])


def wrong(history: History) -> dict[str, list[str]]:
    """What each oracle finds wrong; those that find nothing are left out."""
    found = {name: oracle(history).wrong for name, oracle in ORACLES.items()}
    return {name: sentences for name, sentences in found.items() if sentences}


def first(rows: list[Row], **wanted: Any) -> Row:
    return next(row for row in rows if all(row[name] == value for name, value in wanted.items()))


def test_a_true_history_has_nothing_wrong_in_it_and_every_oracle_looks_at_something(true: History) -> None:
    assert wrong(true) == {}
    assert {name: oracle(true).tried > 0 for name, oracle in ORACLES.items()} == dict.fromkeys(ORACLES, True)


# What is planted. Each returns nothing and changes the history.


def refunded_twice_under_another_key(history: History) -> None:
    one = first(history.book, service="payments")
    history.book.append({**one, "id": "re_other", "key": "somebody-elses"})


def set_aside_twice(history: History) -> None:
    one = first(history.book, service="stock")
    history.book.append({**one, "id": "rsv_other", "key": f"{one['key']}~2"})


def written_twice(history: History) -> None:
    history.letters.append(history.letters[0])


def never_refunded(history: History) -> None:
    history.book.remove(first(history.book, amount="12.50"))


def another_amount(history: History) -> None:
    first(history.book, amount="12.50")["amount"] = "12.51"


def a_letter_that_nobody_recorded(history: History) -> None:
    history.letters.append("<unknown@localhost>")


def a_receipt_for_two(history: History) -> None:
    settled = [event for event in history.events if event["kind"] == "applied" and "EUR" in event["body"]]
    settled[1]["body"] = settled[0]["body"]


def a_send_that_is_not_counted(history: History) -> None:
    first(history.effects, state="applied")["sends"] += 1


def no_yes_for_it(history: History) -> None:
    history.decisions.clear()


def a_yes_for_another_payload(history: History) -> None:
    for decision in history.decisions:
        decision["digest"] = "0" * 64


def a_yes_that_came_later(history: History) -> None:
    first(history.events, kind="approved")["no"] += 1_000


def decided_twice(history: History) -> None:
    history.decisions.append({**history.decisions[0], "id": 0, "verdict": "reject"})


def still_running(history: History) -> None:
    history.runs[0]["state"] = "running"


def still_in_doubt(history: History) -> None:
    history.effects[0]["state"] = "in doubt"


def a_gate_left_open(history: History) -> None:
    history.gates[0]["state"] = "open"


def a_question_left_open(history: History) -> None:
    history.waits[0]["state"] = "open"


def held_by_the_dead(history: History) -> None:
    history.runs[0]["lease_until"] = history.runs[0]["created_at"]


def an_attempt_without_end(history: History) -> None:
    history.attempts[0]["how"] = ""


def an_attempt_that_is_missing(history: History) -> None:
    history.attempts.pop()


def money_that_stays_reserved(history: History) -> None:
    first(history.purses, currency="EUR")["reserved_minor"] = 100


def money_that_was_not_counted(history: History) -> None:
    first(history.purses, currency="EUR")["spent_minor"] -= 1


def tokens_that_were_not_counted(history: History) -> None:
    used = next(budget for budget in history.budgets if budget["tokens_used"])
    used["tokens_used"] -= 1


def an_event_that_was_changed(history: History) -> None:
    history.events[2]["actor"] = "mallory"


def an_event_that_was_dated_back(history: History) -> None:
    history.events[2]["at"] -= timedelta(hours=1)


def events_that_are_gone(history: History) -> None:
    """The tail of a chain, and its head moved back so that it still verifies: only who saw it can tell."""
    chain = history.chains[0]
    mine = [event for event in history.events if event["run_ref"] == chain["run_ref"]]
    history.events.remove(mine[-1])
    chain |= {"no": mine[-2]["no"], "head": mine[-2]["hash"]}


def among(history: History, row: Row, *, before: str, **changed: Any) -> None:
    """Put an event like `row` into its run just before the first one of kind `before`; numbers may be fractions."""
    no = first(history.events, kind=before, run_ref=row["run_ref"])["no"] - 0.5
    history.events.append({**row, "no": no, **changed})


def _first(history: History) -> Row:
    """The first event of a run: acts that belong to none stand before it."""
    return next(event for event in history.events if event["run_ref"].startswith("run-"))


def sent_while_held(history: History) -> None:
    among(history, _first(history), before="sent", kind="held")


def sent_while_to_be_cancelled(history: History) -> None:
    among(history, _first(history), before="intent", kind="cancel asked")


def sent_under_a_stop_order(history: History) -> None:
    early = _first(history)["at"] - timedelta(minutes=1)
    history.stops.append({"id": 1, "name": "refund", "at": early, "lifted_at": None})


def a_stop_that_is_gone(history: History) -> None:
    history.notes.append({"kind": "stop", "stop": 7})


def a_run_that_is_gone(history: History) -> None:
    history.runs[0]["ref"] = "run-another"


def a_decision_that_is_gone(history: History) -> None:
    history.decisions.pop()


def a_command_that_is_gone(history: History) -> None:
    told = {"ref": history.runs[0]["ref"], "command": "holds", "person": "sven"}
    history.notes.append({"kind": "command", **told})


def a_verdict_that_is_gone(history: History) -> None:
    told = {"key": history.effects[0]["key"], "verdict": "did not", "person": "sven"}
    history.notes.append({"kind": "verdict", **told})


@dataclass(frozen=True)
class Plant:
    """What is planted, and which oracle must say what."""

    plant: Callable[[History], None]
    oracle: str
    says: str


MOVED, AGREES, RECEIPT = (
    "each thing moved at most once",
    "the ledger says what moved",
    "one receipt, one effect",
)
APPROVED, ENDED, LEASE = "nothing left without its yes", "every run has ended", "no lease outlives its holder"
STOP = "a stop stops"
SUMS, CHAIN, TOLD = "money and tokens add up", "the chains hold", "what was acknowledged is there"
PLANTS = (
    Plant(refunded_twice_under_another_key, MOVED, "was refunded more than once"),
    Plant(set_aside_twice, MOVED, "goods were set aside 2 times"),
    Plant(set_aside_twice, MOVED, "has moved 2 times under its key"),
    Plant(written_twice, MOVED, "was written 2 times"),
    Plant(never_refunded, MOVED, "completed, and refunded 7.25"),
    Plant(never_refunded, AGREES, "in the ledger, and never moved"),
    Plant(another_amount, AGREES, "another amount in the ledger"),
    Plant(another_amount, AGREES, "the book comes to"),
    Plant(a_letter_that_nobody_recorded, AGREES, "is in the folder alone"),
    Plant(a_receipt_for_two, RECEIPT, "proves run-"),
    Plant(a_send_that_is_not_counted, RECEIPT, "counts 2 sends of 1"),
    Plant(no_yes_for_it, APPROVED, "without a yes about just that"),
    Plant(a_yes_for_another_payload, APPROVED, "without a yes about just that"),
    Plant(a_yes_that_came_later, APPROVED, "without a yes about just that"),
    Plant(decided_twice, APPROVED, "was decided 2 times"),
    Plant(still_running, ENDED, "is still running"),
    Plant(still_in_doubt, ENDED, "is still in doubt"),
    Plant(a_gate_left_open, ENDED, "is still open"),
    Plant(a_question_left_open, ENDED, "still waits"),
    Plant(held_by_the_dead, LEASE, "held by"),
    Plant(an_attempt_without_end, LEASE, "has no end"),
    Plant(an_attempt_that_is_missing, LEASE, "attempts ["),
    Plant(money_that_stays_reserved, SUMS, "100 is still reserved"),
    Plant(money_that_was_not_counted, SUMS, "spent of"),
    Plant(tokens_that_were_not_counted, SUMS, "tokens used of"),
    Plant(an_event_that_was_changed, CHAIN, "is not what its hash says"),
    Plant(an_event_that_was_dated_back, CHAIN, "is not what its hash says"),
    Plant(events_that_are_gone, CHAIN, "was seen, and is gone"),
    Plant(sent_while_held, STOP, "was sent while its run was held"),
    Plant(sent_while_to_be_cancelled, STOP, "intent after its run was to be cancelled"),
    Plant(sent_under_a_stop_order, STOP, "was sent under a stop order"),
    Plant(a_stop_that_is_gone, TOLD, "stop order 7 is not there"),
    Plant(a_run_that_is_gone, TOLD, "was started, and is not there"),
    Plant(a_decision_that_is_gone, TOLD, "of marta is not there"),
    Plant(a_command_that_is_gone, TOLD, "held by sven 1 times, and there 0 times"),
    Plant(a_verdict_that_is_gone, TOLD, "the verdict did not happen of sven is not there"),
)


@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: f"{plant.plant.__name__}: {plant.says}")
def test_an_oracle_finds_what_is_planted_for_it(plant: Plant, true: History) -> None:
    plant.plant(true)

    found = wrong(true)

    assert any(plant.says in sentence for sentence in found.get(plant.oracle, [])), found


def test_every_oracle_has_something_planted_for_it() -> None:
    assert {plant.oracle for plant in PLANTS} == set(ORACLES)
