"""What an agent's step sees of its run: `run.effect`, `run.call`, `run.model`, `run.sleep`, `run.wait_for`, `run.say`.

A step is ordinary code. After a crash or a wait it is executed again from its start, and these calls answer from the
record what they answered before; only what has no record yet happens. Each call's place (step, visit, n-th of its kind)
is what ties it to its record, so a step must make its calls in the same order as long as it is not done.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from django.db import DatabaseError, InterfaceError

from durable import checkpoints, clock, draining, frozen, messages, protocol, waits
from durable.beats import asking
from durable.checkpoints import Said, Snapshot
from durable.digest import digest, plain
from durable.errors import (
    BudgetExhausted,
    EffectFailed,
    EffectRefused,
    HandingBack,
    InterlockError,
    Invalid,
    LeaseLost,
    StepTimeout,
    Stopping,
    Suspension,
)
from durable.ledger import Ask, Place
from durable.models import Effect, Run, Wait
from durable.states import Attention, WaitKind, WaitState
from durable.text import check_json, check_text
from durable.tools import Tool
from durable.transitions import Claim
from durable.vendor import Receipt
from durable.waits import OPERATOR, WaitSpec

#: Beyond this a wait is a mistake, and the database's clock could overflow.
_LONGEST_WAIT = timedelta(days=3660)


class EventTimeout(InterlockError):
    """The outside event did not come in time."""


class GiveUp(InterlockError):
    """The agent declares its run failed, for good and on purpose. The message is shown to people."""


@dataclass(frozen=True, slots=True)
class Wish:
    """One of several effects that a turn asks for at once; see `RunContext.effects`."""

    tool: Tool
    args: Mapping[str, Any]


def wish(tool: Tool, **args: Any) -> Wish:
    """Write an effect down for `run.effects`, without asking for it yet."""
    return Wish(tool, args)


class RunContext:
    """The run, as one execution of one step sees it. After a suspension it refuses everything."""

    def __init__(
        self,
        claim: Claim,
        run: Run,
        snap: Snapshot,
        place_name: str,
        timeout: timedelta,
        *,
        first: bool = False,
    ) -> None:
        self.ref = run.ref
        self.input: Any = run.input
        self.state: dict[str, Any] = snap.working_copy()
        self.result: Any = None
        self.step = place_name
        self.visit = snap.visit
        self.said: list[Said] = []
        self._claim, self._run, self._snap = claim, run, snap
        self._first = first  # nobody has executed this visit of the step before: it has left no record
        self._effects = self._reads = self._waits = 0
        self._deadline = clock.elapsed() + timeout.total_seconds()
        self.over: BaseException | None = None  # what ended this execution, for whoever swallowed it
        self.inside = 0  # depth of calls into the engine: no time limit interrupts those
        self.acted = False  # an effect was asked for: checkpoints around it are synchronous

    # Effects

    def effect(self, tool: Tool, **args: Any) -> Receipt:
        """Touch the outside world, once, whatever happens meanwhile. Returns the vendor's receipt.

        Raises Invalid (arguments), EffectRefused (people said no) and EffectFailed (the vendor refused for
        good), which a step may catch and go on from.
        """
        with self._engine():
            asked = self._ask(tool, args)
            self._write_earlier_steps()
            if not self._first:
                frozen.bill(self._claim)  # there may be no intent to write that would take it along
            return protocol.perform(self._claim, self._run, asked, first=self._first)

    def effects(self, *wishes: Wish) -> list[Receipt | EffectRefused | EffectFailed]:
        """Ask for several effects of one turn: all are recorded, the ungated ones act, then the run waits for the rest.

        Returns a receipt or a refusal for each, in order, once all are settled.
        """
        with self._engine():
            asks = [self._ask(wish.tool, wish.args) for wish in wishes]
            frozen.bill(self._claim)
            self._write_earlier_steps()
            return protocol.perform_all(self._claim, self._run, asks)

    def _ask(self, tool: Tool, args: Mapping[str, Any]) -> Ask:
        ordinal = self._effects + 1
        asked = replace(Ask.of(tool, args, Place(self.step, self.visit, ordinal)), said=self._words())
        self._effects, self.acted = ordinal, True
        return asked

    def _write_earlier_steps(self) -> None:
        """Let no intent be on record without the steps before it: a crash would take them another way (`exit` mode).

        Lazily: the intent's own commit waits for the disk, and takes everything before it along.
        """
        if self._snap.unwritten:
            checkpoints.save(self._claim, self._snap, sync=False)

    def _words(self) -> str:
        """What this step has said so far, for the people who are asked about its effect."""
        return "\n".join(
            said.content if isinstance(said.content, str) else str(said.content) for said in self.said
        )

    # Results worth keeping

    def call(self, tool: Tool, **args: Any) -> Any:
        """Read from the outside world and freeze what was read. Returns plain JSON. Raises what the tool raises."""
        with self._engine():
            if not tool.facts.reads:
                raise Invalid("tool", f"{tool.name} has an effect; ask for it with run.effect")
            place = self._read_place()
            frozen.bill(self._claim)
            proposal = tool.proposal(args)
            found = None if self._first else frozen.at(self._claim, place, tool.name, proposal.digest)
            if found is not None and frozen.still_good(found, effects_recorded=self._effects_recorded()):
                return found.result
            draining.check(self.ref)
        with asking("read"):
            result = tool.function(**tool.typed(proposal.args))
        with self._engine():
            result = plain(frozen.mended(result), f"result of {tool.name}")
            frozen.keep(self._claim, place, tool.name, proposal.digest, result, tool.facts.freshness)
            return result

    def model(self, model: Callable[[Any], tuple[Any, int]], request: Any, *, tokens: int) -> Any:
        """Call a model: journalled, and billed. Returns its answer (plain JSON), the recorded one after a crash.

        `model` takes the request and returns the answer and the tokens that it cost; `tokens` is the most
        that it may cost, reserved beforehand.
        """
        with self._engine():
            place = self._read_place()
            name = f"model:{model.__name__}"
            asked = digest(request)
            frozen.bill(self._claim)
            draining.check(self.ref)
            reserved = frozen.reserve_model(self._claim, place, name, asked, tokens)
            if reserved.known:
                return reserved.answer
        with asking("model"):
            given = model(request)
        with self._engine():
            answer, cost = frozen.billed(given, model.__name__)
            answer = plain(frozen.mended(answer), f"answer of {model.__name__}")
            frozen.answered(self._claim, reserved, answer, cost)
            return copy.deepcopy(answer)

    def _read_place(self) -> Place:
        self._reads += 1
        return Place(self.step, self.visit, self._reads)

    def _effects_recorded(self) -> bool:
        place = {"run_id": self._claim.run_id, "step": self.step, "visit": self.visit}
        return Effect.objects.filter(**place, undo_of=None).exists()

    # The conversation

    def say(self, role: str, content: Any) -> None:
        """Add a message to the conversation; stored when the step ends."""
        with self._engine():
            check_text(role, "role")
            check_json(content, "content")
            self.said.append(Said(role, content))

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The conversation so far, what this step has said included."""
        with self._engine():
            stored = messages.conversation(self._snap.branch_id, self._snap.message_count)
            first = self._snap.message_count + 1
            new = [*self._snap.said, *self.said]
            return stored + [
                {"no": first + n, "role": m.role, "content": m.content} for n, m in enumerate(new)
            ]

    # Waits

    def sleep(self, length: timedelta) -> None:
        """Wait without costing anything: no thread, no lease, no query, for a minute or a month."""
        with self._engine():
            _check_length(length, "length")
            self._wait(WaitKind.TIMER, "sleep", length)

    def wait_for(self, name: str, *, within: timedelta) -> Any:
        """Wait for an outside event (`waits.deliver`). Returns its payload; raises EventTimeout when it did
        not come.
        """
        with self._engine():
            check_text(name, "name")
            _check_length(within, "within")
            wait = self._wait(WaitKind.EVENT, name, within)
        if wait.state == WaitState.RESOLVED:
            return wait.answer
        raise EventTimeout(f"{name} did not come within {within}")

    def _wait(self, kind: WaitKind, name: str, within: timedelta) -> Wait:
        self._waits += 1
        spec = WaitSpec(kind, name, self.step, self.visit, self._waits, within)
        found = None if self._first else waits.at(self._claim.run_id, spec)
        if found is None or found.state == WaitState.OPEN:
            raise Suspension(found or spec)
        return found

    # The door to the engine

    @contextmanager
    def _engine(self) -> Iterator[None]:
        """Every call goes through here: a run object that is over refuses, and what ends it can't be swallowed."""
        if self._claim.lost and self.over is None:
            self.over = LeaseLost(f"{self.ref}: the heartbeat lost the lease")
        if self.over is not None:
            raise self.over
        self._check_time()
        self.inside += 1
        try:
            yield
        except (Suspension, Stopping, HandingBack, LeaseLost) as end:
            self.over = end
            raise
        except (DatabaseError, InterfaceError) as error:
            # The class alone: the database's words quote whole rows, and this text reaches a log.
            self.over = LeaseLost(f"{self.ref}: {type(error).__name__}")
            raise self.over from error
        except BudgetExhausted as error:
            self.over = Suspension(self._spent(error))
            raise self.over from error
        finally:
            self.inside -= 1
        self._check_time()

    def _check_time(self) -> None:
        if clock.elapsed() > self._deadline:
            raise StepTimeout(f"step {self.step} of {self.ref} ran past its time limit")

    def _spent(self, error: BudgetExhausted) -> WaitSpec:
        detail = {"sentence": str(error), "limit": error.limit}
        return WaitSpec(
            WaitKind.ATTENTION,
            Attention.BUDGET.value,
            self.step,
            self.visit,
            waits_for=OPERATOR,
            detail=detail,
        )

    @property
    def effects_asked(self) -> int:
        """How many effects this execution has asked for."""
        return self._effects


def _check_length(length: object, field: str) -> None:
    if not isinstance(length, timedelta):
        raise Invalid(
            field, f"must be a length of time, not {length!r:.40}; write seconds(5), hours(2), days(1)"
        )
    if not timedelta(0) <= length <= _LONGEST_WAIT:
        raise Invalid(field, f"must be from 0 to {_LONGEST_WAIT.days} days")
