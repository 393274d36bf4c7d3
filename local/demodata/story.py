"""One run as the engine would have left it: its attempts, checkpoints, conversation, waits, events and money.

A story is told forward in time; each function writes down what one commit of the engine would have. What only the end
knows (the run's own row, its purses, what pruning has taken) is written by `close`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from durable import vault
from durable.budget import Budget
from durable.digest import sha256
from durable.retention.terms import Terms
from durable.runs import ref_of
from durable.states import (
    ENDED,
    AttemptEnd,
    Attention,
    CheckpointKind,
    EventKind,
    RunState,
    WaitKind,
    WaitState,
)
from durable.waits import OPERATOR
from local.demodata.chronicle import Chronicle, World
from local.demodata.rows import canonical

REQUESTER = "shop"
#: Days for which an ended run keeps what goes first, where nobody has set another policy.
KEEP = timedelta(days=Terms().shortest or 0)


@dataclass
class OpenWait:
    """A wait that is still open in its story."""

    id: int
    kind: WaitKind
    name: str
    place: tuple[str, int, int]
    effect: int | None
    waits_for: str
    detail: dict[str, Any]
    opened: datetime
    deadline: datetime | None


@dataclass(slots=True)
class _Saved:
    """A checkpoint that is not pruned yet."""

    version: int
    values: tuple[Any, ...]
    state_version: int


@dataclass(kw_only=True)
class Story(Chronicle):
    """A run that is being told."""

    world: World
    agent: str
    limits: Budget
    state: RunState = RunState.QUEUED
    step: str = ""
    visit: int = 1
    tries: int = 0
    held: bool = False
    result: Any = None
    error: str = ""
    worker: str = ""
    nonce: str = ""
    attempt: int = 0
    ended: datetime | None = None
    spent: dict[str, list[int]] = field(default_factory=dict)
    said: list[tuple[str, Any]] = field(default_factory=list)
    steps_used: int = 0
    tokens_used: int = 0
    _claimed: datetime | None = None
    _version: int = 0
    _state_version: int = 0
    _messages: int = 0
    _progress: dict[str, int] = field(default_factory=dict)
    _saved: list[_Saved] = field(default_factory=list)
    _frozen: list[tuple[str, int, tuple[Any, ...]]] = field(default_factory=list)

    def begin(self, input: dict[str, Any], key: str, first: str) -> None:
        """Start the run with `input`, under a start key, at its first step."""
        self.created, self.input, self.start_key = self.now, input, key
        since = self.now.replace(tzinfo=UTC).timestamp()
        self.ref = ref_of(int(since * 1000), self.chance.getrandbits(40))
        self.seal_key, self._wrapped = vault.first_key(self.ref)
        self.input_digest = sha256(canonical({"agent": self.agent, "input": input}).encode())
        self.spent = {money.currency: [0, 0] for money in self.limits.purses}
        self.checkpoint(CheckpointKind.START, first, state={})
        self.step = first
        self.event(EventKind.STARTED, actor=REQUESTER, body={"agent": self.agent, "input": self.input_digest})

    # Attempts

    def claim(self) -> None:
        """Let a worker take the run."""
        self.pass_time(0.02, 1.5)
        self.attempt += 1
        self.worker = f"worker-{self.chance.randrange(1, 9)}:{self.chance.randrange(300, 4000)}"
        self.nonce, self._claimed = f"{self.chance.getrandbits(64):016x}", self.now
        if self.attempt > 1:
            body = {"attempt": self.attempt, "version": self._version}
            self.event(EventKind.RESUMED, actor=self.worker, body=body)

    def let_go(self, how: AttemptEnd) -> None:
        """Let the worker give the run up."""
        self.pass_time(0.001, 0.01)
        self.rows.add(
            "durable_attempt", self.id, self.attempt, self.worker, self._claimed, self.now, how.value
        )

    def suspend(self) -> None:
        """Put the run to rest at the step that it stands at; what that step has said so far is not kept."""
        self.said.clear()
        self.checkpoint(CheckpointKind.SUSPEND, self.step)
        self.let_go(AttemptEnd.SUSPENDED)
        self.state = RunState.SUSPENDED

    # Progress

    def say(self, role: str, content: Any) -> None:
        """Add a message to the conversation; stored when the step ends."""
        self.said.append((role, content))

    def freeze(
        self, tool: str, digest: str, result: Any, *, tokens: int = 0, fresh: timedelta | None = None
    ) -> None:
        """Freeze what a read, or a model, has answered at this visit of the step."""
        self.pass_time(0.02, 0.4)
        until = None if fresh is None else self.now + fresh
        values = (self.id, self.step, self.visit, 1, tool, digest, result, True, 0, tokens, self.now, until)
        self._frozen.append((self.step, self.visit, values))
        self.tokens_used += tokens

    def next(self, following: str, state: dict[str, Any] | None = None) -> None:
        """End the step and go on to `following`; `state` is the new working state where it has changed."""
        self._advance()
        self.checkpoint(CheckpointKind.STEP, following, state=state)
        self.step, self.visit = following, self._progress.get(following, 0) + 1

    def complete(self, result: Any) -> None:
        """End the last step, and with it the run."""
        self._advance()
        self.checkpoint(CheckpointKind.END, "")
        self.step, self.visit, self.result = "", 1, result
        self.event(EventKind.COMPLETED, actor=self.worker, body={"attempt": self.attempt})
        self.end(RunState.COMPLETED)

    def end(self, state: RunState) -> None:
        """Let the run come to an end of its life."""
        self.let_go(AttemptEnd.ENDED)
        self.state, self.ended = state, self.now

    def _advance(self) -> None:
        self._progress[self.step] = self.visit
        self.steps_used += 1

    def checkpoint(
        self, kind: CheckpointKind, following: str, *, state: dict[str, Any] | None = None
    ) -> None:
        """Write a checkpoint, and the messages that go with it. Without `state` the working state is the same."""
        self.pass_time(0.002, 0.02)
        for role, content in self.said:
            self._messages += 1
            self.rows.add("durable_message", self.id, self._messages, role, canonical(content), self.now)
        self.said.clear()
        self._version += 1
        if state is not None:
            self._state_version = self._version
        stays = kind in (CheckpointKind.SUSPEND, CheckpointKind.START)
        visit = self.visit if stays else self._progress.get(following, 0) + 1
        values = (
            *(self.id, self._version, kind.value, self.step, self.visit, following, visit, self.attempt),
            *(state, self._state_version, dict(self._progress), self.id, self._messages, 0),
            {"steps": self.steps_used, "tokens": self.tokens_used},
            self.now,
        )
        self._saved.append(_Saved(self._version, values, self._state_version))

    # Waits

    def wait(
        self,
        kind: WaitKind,
        name: str,
        place: tuple[str, int, int],
        *,
        effect: int | None = None,
        waits_for: str = OPERATOR,
        detail: dict[str, Any] | None = None,
        within: timedelta | None = None,
    ) -> OpenWait:
        """Open a wait at a place (step, visit, ordinal)."""
        self.pass_time(0.001, 0.005)
        deadline = None if within is None else self.now + within
        number = self.rows.new_id("durable_wait")
        return OpenWait(number, kind, name, place, effect, waits_for, detail or {}, self.now, deadline)

    def note_wait(
        self, wait: OpenWait, state: WaitState = WaitState.OPEN, *, by: str = "", answer: Any = None
    ) -> None:
        """Write a wait down as it ends now, or as it stands open when the story does."""
        closed = None if state is WaitState.OPEN else self.now
        self.rows.write(
            "durable_wait",
            *(wait.id, self.id, wait.kind.value, wait.name, *wait.place, wait.effect, wait.waits_for),
            *(wait.detail, state.value, wait.opened, wait.deadline, answer, closed, by),
        )

    def attention(
        self, reason: Attention, sentence: str, *, effect: int | None = None, key: str = "", **detail: Any
    ) -> OpenWait:
        """Put the run before a person."""
        place, shown = (self.step, self.visit, effect or 0), {"sentence": sentence, **detail}
        wait = self.wait(WaitKind.ATTENTION, reason.value, place, effect=effect, detail=shown)
        self.event(EventKind.ATTENTION, key, body={"reason": reason.value}, words=sentence)
        return wait

    # The end

    def close(self) -> None:
        """Write down what only the end of the story knows. Past its time an ended run has been pruned."""
        changed = self.now
        if self.ended is not None and self.state in ENDED and self.ended < self.world.until - KEEP:
            self._prune()
        for saved in self._saved:
            self.rows.add("durable_checkpoint", *saved.values)
        for _, _, values in self._frozen:
            self.rows.add("durable_frozen", *values)
        self.rows.write("durable_chain", self.ref, self.last_no, self.head)
        self.rows.write("durable_sealkey", self.id, self.id, self._wrapped)
        self.rows.write("durable_branch", self.id, 0)
        self._budget()
        self.rows.write(
            "durable_run",
            *(self.id, self.ref, self.agent, self.start_key, self.input, self.input_digest, REQUESTER),
            *("async", self.state.value, self.step, self.visit, self.tries, self._version, self.id),
            *(self._messages, self.attempt, self.nonce, "", 0, None),
            *(self.held, False, self.id, self.result, self.error, self.created, changed, self.ended),
        )

    def _budget(self) -> None:
        deadline = None if self.limits.deadline is None else self.created + self.limits.deadline
        used = (self.limits.steps, self.steps_used, self.limits.tokens, self.tokens_used, 0, deadline)
        self.rows.write("durable_budget", self.id, *used)
        for money in self.limits.purses:
            reserved, spent = self.spent[money.currency]
            self.rows.add("durable_purse", self.id, money.currency, money.minor, reserved, spent)

    def _prune(self) -> None:
        """Leave what `retention` leaves: the last checkpoint and its state, and where a failed run stands."""
        newest = self._saved[-1]
        kept = [one for one in self._saved if one is newest or one.version == newest.state_version]
        stands = (self.step, self.visit) if self.state is RunState.FAILED else None
        frozen = [one for one in self._frozen if one[:2] == stands]
        gone = {
            "checkpoints": len(self._saved) - len(kept),
            "frozen": len(self._frozen) - len(frozen),
        }
        self._saved, self._frozen = kept, frozen
        if any(gone.values()):
            assert self.ended is not None
            self.now = self.ended + KEEP + timedelta(seconds=3600 * self.chance.random())
            self.event(EventKind.PRUNED, body=gone, words="retention")
