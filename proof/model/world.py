"""The state of the model's small world: a ledger, a vendor, two workers, two reviewers. Compact and immutable.

A world is one tuple of tuples: equal worlds are one state of the graph. Nothing in it is a number of seconds. Of
time only what can matter is kept: which of the moments of a request, a key and a gate have passed. They pass in
the order that the assumptions allow (`weather`), and otherwise whenever it is worst.

What the product can't know but the oracle must (what people really said, what was wrong when a request was let out)
is kept beside it and read by the oracle alone: `said`, `stamp`, `back`.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

# States of an effect and of a run, in the product's words.
GATED, APPROVED, PENDING, DOUBT, APPLIED = "gated", "approved", "pending", "in doubt", "applied"
FAILED, REJECTED, EXPIRED, WITHDRAWN = "failed", "rejected", "expired", "withdrawn"
REFUSED = (REJECTED, EXPIRED, WITHDRAWN)
UNSETTLED = (PENDING, DOUBT)
OPEN = (GATED, APPROVED, PENDING, DOUBT)

QUEUED, RUNNING, SUSPENDED, COMPLETED = "queued", "running", "suspended", "completed"
CANCELLING, CANCELLED, COMPENSATING = "cancelling", "cancelled", "compensating"
COMPENSATED, PARTLY = "compensated", "partly compensated"
ENDED = (COMPLETED, CANCELLED, COMPENSATED, PARTLY)

# The moments of a request, counted from the effect's last send.
SENDING, LATE, LANDED, QUIET = range(
    4
)  # may begin; may still land; dead, the look-up may lag; nothing can follow
YOUNG, OLD = range(2)  # the key, within and past half of its life

# The beats of a worker.
IDLE, READY, MEANS, MAY_SEND, ASKED, KNOWS, DONE = (
    "idle",
    "ready",
    "means",
    "may send",
    "asked",
    "knows",
    "done",
)


class Effect(NamedTuple):
    """One row of the ledger, with the gate of its present round (`gate`: open, approved, used, or nothing)."""

    key: str
    run: int
    place: str
    undo: bool
    asked: int  # the body as the step asked, and as people decided: an amount
    body: int
    state: str
    link: int = 1
    sent: bool = False
    open: int = 0  # requests without a certain answer
    unsure: bool = False  # some request of it may have reached the vendor, though none is open
    phase: int = SENDING
    age: int = YOUNG
    saved: bool = False  # the vendor answers with an error that it has saved under the key
    receipt: int = -1  # the movement in the vendor's book, as the ledger believes
    late: int = -1  # a receipt that a worker without a lease has left
    round: int = 1
    gate: str = ""
    over: bool = False  # decide-by, or act-by, has passed
    revoked: bool = False  # whoever approved may no longer decide
    editor: str = ""
    drawn: bool = False  # its money is reserved in the purse
    since: bool = False  # what a restore made doubtful about its place has been asked


class Run(NamedTuple):
    """One run: `due` says that a worker may claim it, `lease` whether one holds it (free, held, over)."""

    state: str = QUEUED
    cursor: int = 0
    lease: str = "free"
    due: bool = True
    held: bool = False
    undo: bool = False  # it was cancelled together with what it has done
    stuck: str = ""  # what a person must look at, beside effects in doubt
    attempt: int = 0  # counted only where a broken key is made of it
    restored: bool = False  # it comes from a backup: what happened since is not on record
    back: bool = False  # its progress has once gone back
    fork: bool = False  # it sees the ledger of the first run


class Worker(NamedTuple):
    """A worker at a beat. `current` is its fencing token: false once its lease has run out."""

    beat: str = IDLE
    run: int = -1
    current: bool = True
    cursor: int = 0
    asked: int = 0  # what this execution of the step asks for, once it has asked
    means: str = ""  # record, release, adopt, doubt, suspend
    key: str = ""
    place: str = ""
    undo: bool = False
    body: int = 0
    answer: str = ""  # receipt, refused, saved error, no answer, not sent
    receipt: int = -1
    stamp: str = ""  # what was wrong when its request was let out
    over: bool = False  # the time in which it may begin its request has passed on its own clock
    fits: bool = True  # what it read before it began to write


class Request(NamedTuple):
    """A request on its way to the vendor; `by` is the worker that still waits for its answer, or -1."""

    key: str
    body: int
    by: int
    stamp: str


class Movement(NamedTuple):
    """A line of the vendor's book: the vendor has acted. Its place in the book is its receipt."""

    key: str
    body: int
    stamp: str = ""


class Answer(NamedTuple):
    """A reviewer's answer on its way: which round and body the screen showed, and whether it came in time."""

    key: str
    round: int
    body: int
    verdict: str
    late: bool


class Said(NamedTuple):
    """What a person really said, about what their screen showed. Kept for the oracle."""

    key: str
    body: int
    who: str
    verdict: str
    round: int = 1
    late: bool = False
    own: bool = False  # about what they had themselves edited
    blind: bool = False  # while nobody knew what had become of the same act in the run's parent


class Luck(NamedTuple):
    """How often each misfortune may still strike, and how often people may still act. The bounds of a scenario."""

    crash: int = 0
    pause: int = 0
    lose: int = 0  # answers, and connections
    refuse: int = 0  # the vendor says no, for good
    error: int = 0  # the vendor fails and saves that under the key
    wrong: int = 0  # the vendor moves another amount than asked
    fickle: int = 0  # a step executed again asks for another body
    edit: int = 0
    lapse: int = 0  # a yes is not used in time
    revoke: int = 0
    cancel: int = 0
    hold: int = 0
    fork: int = 0
    restore: int = 0


class World(NamedTuple):
    """Everything. `backup` holds the ledger as an old backup has it; `forgot` the keys that the vendor has dropped."""

    runs: tuple[Run, ...]
    effects: tuple[Effect, ...]
    workers: tuple[Worker, ...]
    luck: Luck
    wire: tuple[Request, ...] = ()
    book: tuple[Movement, ...] = ()
    errors: tuple[str, ...] = ()
    forgot: tuple[str, ...] = ()
    reserved: int = 0
    spent: int = 0
    hands: tuple[Answer | None, ...] = ()
    said: tuple[Said, ...] = ()
    backup: tuple[tuple[Run, ...], tuple[Effect, ...], int, int] | None = None

    def with_run(self, number: int, run: Run) -> World:
        """The same world with another run at a number."""
        return self._replace(runs=(*self.runs[:number], run, *self.runs[number + 1 :]))

    def with_worker(self, number: int, worker: Worker) -> World:
        """The same world with another worker at a number."""
        return self._replace(workers=(*self.workers[:number], worker, *self.workers[number + 1 :]))

    def with_effect(self, effect: Effect) -> World:
        """The same world with an effect changed, or added to the end of the ledger."""
        for place, one in enumerate(self.effects):
            if one.key == effect.key:
                return self._replace(effects=(*self.effects[:place], effect, *self.effects[place + 1 :]))
        return self._replace(effects=(*self.effects, effect))

    def effect(self, key: str) -> Effect | None:
        """The effect of a key."""
        for one in self.effects:
            if one.key == key:
                return one
        return None

    def at(self, run: int, place: str, undo: bool) -> Effect | None:
        """The newest effect at a place of a run: the one that still may act."""
        found = None
        for one in self.effects:
            if one.run == run and one.place == place and one.undo == undo:
                found = one
        return found

    def spend_luck(self, **less: int) -> World:
        """The same world with fewer of some kinds of luck."""
        left = {name: getattr(self.luck, name) - count for name, count in less.items()}
        return self._replace(luck=self.luck._replace(**left))


Move = tuple[str, World]


@cache
def lineage(key: str) -> str:
    """The business act behind a key: the same for a key and those linked to it, or made of an attempt."""
    undo = ":undo" if ":undo" in key else ""
    return key.split(":undo")[0].split("~")[0].split("/")[0] + undo


def wake(run: Run) -> Run:
    """Put a run before the workers again, unless an operator holds it or a person must look first."""
    if run.state == SUSPENDED and not run.held and not run.stuck:
        return run._replace(state=QUEUED, due=True)
    if run.state in (CANCELLING, COMPENSATING) and run.lease == "free":
        return run._replace(due=True)
    return run
