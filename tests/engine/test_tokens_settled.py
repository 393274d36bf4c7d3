"""Tokens: what a model call has reserved ends as spent or is billed; the counters are the sum of their entries."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from durable import runs, steering
from durable.author import Budget, GiveUp, Next, RunContext, step
from durable.models import Frozen, Run
from durable.states import RunState
from tests.engine import agents, desk
from tests.engine.held import check_tokens
from tests.engine.resting import rest
from tests.engine.scenes import Killed

pytestmark = pytest.mark.django_db(transaction=True)
BY: dict[str, Any] = {"actor": "olga", "reason": "because"}
#: What the model below does with its next calls, in order; when none is left it answers, for 10 tokens.
fates: list[BaseException] = []


@pytest.fixture(autouse=True)
def _world() -> Iterator[None]:
    with agents.world():
        fates.clear()
        yield
        check_tokens()


def model(request: Any) -> tuple[Any, int]:
    """Answer, or meet the fate that a test has set."""
    if fates:
        raise fates.pop(0)
    return "answer", 10


@step(retries=9)
def ask(self: Any, run: RunContext) -> Next:
    """Think the first time alone; whoever comes again goes another way."""
    if run.input["ask"] == "always" or not Frozen.objects.exists():
        run.result = run.model(model, "q", tokens=50)
    if run.input["ask"] == "give up":
        raise GiveUp("enough")
    return None


def start(how: str = "once") -> Run:
    agents.define("Asker", ask, rest, budget=Budget(tokens=500))
    return agents.start("Asker", {"ask": how})


def crash(run: Run) -> Run:
    fates.append(Killed())
    with pytest.raises(Killed):
        desk.drive(run)
    desk.time_passes(minutes=5)
    return run


def tokens(run: Run) -> tuple[int, int]:
    """Used and reserved."""
    run.budget.refresh_from_db()
    check_tokens()
    return run.budget.tokens_used, run.budget.tokens_reserved


def test_a_call_that_is_not_repeated_after_a_crash_is_billed_when_the_run_completes() -> None:
    run = crash(start())
    assert tokens(run) == (0, 50)
    assert desk.drive(run).state == RunState.COMPLETED
    assert tokens(run) == (50, 0)


def test_a_call_that_is_not_repeated_is_billed_when_the_run_fails() -> None:
    run = crash(start("give up"))
    desk.drive(run)
    assert desk.drive(run).state == RunState.FAILED
    assert tokens(run) == (50, 0)


@pytest.mark.parametrize("undo", [False, True], ids=["cancelled", "cancelled and undone"])
def test_a_call_that_is_not_repeated_is_billed_when_the_run_is_cancelled(undo: bool) -> None:
    run = crash(start())
    runs.cancel(run.ref, undo=undo, **BY)
    desk.drive(run)
    desk.drive(run)
    assert run.state == (RunState.COMPENSATED if undo else RunState.CANCELLED)
    assert tokens(run) == (50, 0)


def test_a_call_of_a_step_that_was_skipped_is_billed_at_the_end() -> None:
    run = crash(start("always"))
    runs.hold(run.ref, **BY)
    desk.drive(run)
    steering.skip(run.ref, **BY)
    runs.release(run.ref, **BY)
    assert desk.drive(run).state == RunState.COMPLETED
    assert tokens(run) == (50, 0)


def test_a_call_that_failed_and_was_given_up_by_the_step_is_billed_at_the_end() -> None:
    @step
    def lenient(self: Any, run: RunContext) -> Next:
        try:
            run.model(model, "q", tokens=50)
        except ValueError:
            run.result = "without"
        return None

    fates.append(ValueError("500 from the model"))
    run = agents.run_of(lenient)
    assert desk.drive(run).result == "without"
    assert tokens(run) == (50, 0)


def test_each_call_that_a_crash_cut_off_is_an_entry_of_its_own_in_the_sum() -> None:
    run = crash(crash(start("always")))
    assert tokens(run) == (50, 50)
    assert desk.drive(run).result == "answer"
    assert tokens(run) == (110, 0)


def test_two_answers_at_one_place_are_both_in_the_sum() -> None:
    """The step fails after its first answer and asks something else there the next time."""
    turn: list[int] = []

    @step
    def wavering(self: Any, run: RunContext) -> Next:
        turn.append(1)
        run.model(model, len(turn), tokens=50)
        if len(turn) == 1:
            raise ValueError("once more")
        return None

    run = desk.drive(agents.run_of(wavering))
    desk.time_passes(minutes=5)
    assert desk.drive(run).state == RunState.COMPLETED
    assert tokens(run) == (20, 0)


def test_each_call_of_a_step_has_an_answer_of_its_own_though_all_ask_the_same() -> None:
    """The step dies after the third: executed again, it gets the first two at their places. The third was not on record
    yet, which goes with the next write, and is asked for once more.
    """
    asked: list[Any] = []
    got: list[Any] = []

    def counting(request: Any) -> tuple[Any, int]:
        asked.append(request)
        return len(asked), 10

    @step(retries=9)
    def thrice(self: Any, run: RunContext) -> Next:
        got.append([run.model(counting, "q", tokens=50) for _ in range(3)])
        if len(got) == 1:
            raise Killed
        return None

    run = agents.run_of(thrice)
    with pytest.raises(Killed):
        desk.drive(run)
    desk.time_passes(minutes=5)
    assert desk.drive(run).state == RunState.COMPLETED
    assert got == [[1, 2, 3], [1, 2, 4]]


def test_a_call_that_is_repeated_with_another_reservation_reserves_that() -> None:
    sizes = [50, 80]

    @step(retries=9)
    def growing(self: Any, run: RunContext) -> Next:
        run.model(model, "q", tokens=sizes.pop(0))
        return None

    run = crash(crash(agents.run_of(growing)))
    assert tokens(run) == (50, 80)


def test_a_read_in_the_place_of_a_cut_off_call_bills_it_to_its_own_run_alone() -> None:
    @step(retries=9)
    def wavering(self: Any, run: RunContext) -> Next:
        if Frozen.objects.filter(run__ref=run.ref).exists():
            run.call(agents.read_price, sku="MUG")
        else:
            run.model(model, "q", tokens=50)
        return None

    bystander = crash(start("always"))
    run = desk.drive(crash(agents.run_of(wavering)))
    assert run.state == RunState.COMPLETED
    assert (tokens(run), tokens(bystander)) == ((50, 0), (0, 50))


def test_what_a_cut_off_call_may_have_cost_is_not_free_for_a_fork() -> None:
    agents.define("Asker", ask, rest, budget=Budget(tokens=60))
    run = crash(agents.start("Asker", {"ask": "always"}))
    runs.cancel(run.ref, **BY)
    desk.drive(run)
    fork = desk.drive(steering.fork(run.ref, 1, **BY))
    assert (fork.state, fork.waits.get(state="open").name) == (RunState.SUSPENDED, "budget spent")
    assert tokens(run) == (50, 0)
