"""States of runs, effects and waits, and the moves between them that are legal. Pure values, no database.

A value is the word that people read; the glossary knows these and no others.
"""

from __future__ import annotations

from enum import StrEnum


class EffectClass(StrEnum):
    """What follows from a tool's declared facts; never set by hand."""

    READ = "read"
    IDEMPOTENT = "idempotent"
    COMPENSABLE = "compensable"
    IRREVERSIBLE = "irreversible"


class Durability(StrEnum):
    """When a checkpoint reaches the disk. Around effects all three are synchronous."""

    SYNC = "sync"  # each checkpoint durable before the next step
    ASYNC = "async"  # written at once, without waiting for the disk
    EXIT = "exit"  # written at the end, at a suspension and around effects


class RunState(StrEnum):
    """Where a run is in its life."""

    QUEUED = "queued"
    RUNNING = "running"
    SUSPENDED = "suspended"
    FAILING = "failing"
    CANCELLING = "cancelling"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    COMPENSATING = "compensating"
    COMPENSATED = "compensated"
    PARTLY_COMPENSATED = "partly compensated"


R = RunState
#: Forward work ends here; compensation may still follow.
ENDED = frozenset({R.COMPLETED, R.FAILED, R.CANCELLED, R.COMPENSATED, R.PARTLY_COMPENSATED})
#: Nothing ever follows these.
FINAL = frozenset({R.COMPENSATED, R.PARTLY_COMPENSATED})
#: On the way to an end: no new intent is recorded (undos excepted), open effects get settled.
ENDING = frozenset({R.FAILING, R.CANCELLING, R.COMPENSATING})

RUN_MOVES: dict[RunState, frozenset[RunState]] = {
    R.QUEUED: frozenset({R.RUNNING, R.SUSPENDED, R.CANCELLING}),
    R.RUNNING: frozenset({R.QUEUED, R.SUSPENDED, R.FAILING, R.CANCELLING, R.COMPLETED}),
    R.SUSPENDED: frozenset({R.QUEUED, R.CANCELLING}),
    R.FAILING: frozenset({R.FAILED, R.CANCELLING}),
    R.CANCELLING: frozenset({R.CANCELLED}),
    R.COMPLETED: frozenset({R.COMPENSATING}),
    R.FAILED: frozenset({R.COMPENSATING, R.QUEUED}),
    R.CANCELLED: frozenset({R.COMPENSATING}),
    R.COMPENSATING: frozenset({R.COMPENSATED, R.PARTLY_COMPENSATED}),
    R.COMPENSATED: frozenset(),
    R.PARTLY_COMPENSATED: frozenset(),
}


class EffectState(StrEnum):
    """Where an effect is in its life, as the last ledger event left it."""

    GATED = "gated"
    APPROVED = "approved"
    PENDING = "pending"
    IN_DOUBT = "in doubt"
    APPLIED = "applied"
    FAILED = "failed"
    REJECTED = "rejected"
    EXPIRED = "expired"
    WITHDRAWN = "withdrawn"


E = EffectState
#: People or the rules said no; the step gets a typed refusal.
REFUSED = frozenset({E.REJECTED, E.EXPIRED, E.WITHDRAWN})
#: A request may be on its way or have landed.
UNSETTLED = frozenset({E.PENDING, E.IN_DOUBT})
#: Still to be decided or settled; no run ends over `UNSETTLED` ones, gated ones are withdrawn.
OPEN = frozenset({E.GATED, E.APPROVED, E.PENDING, E.IN_DOUBT})

_NEW_ROUND = frozenset({E.GATED, E.PENDING})
EFFECT_MOVES: dict[EffectState, frozenset[EffectState]] = {
    E.GATED: frozenset({E.APPROVED, E.REJECTED, E.EXPIRED, E.WITHDRAWN}) | _NEW_ROUND,
    E.APPROVED: frozenset({E.PENDING, E.GATED, E.WITHDRAWN}),
    E.PENDING: frozenset({E.PENDING, E.GATED, E.IN_DOUBT, E.APPLIED, E.FAILED, E.WITHDRAWN}),
    E.IN_DOUBT: frozenset({E.PENDING, E.APPLIED, E.WITHDRAWN}),
    E.APPLIED: frozenset(),
    E.FAILED: frozenset({E.WITHDRAWN}),  # an operator asks again, under a linked key
    E.REJECTED: _NEW_ROUND,
    E.EXPIRED: _NEW_ROUND,
    E.WITHDRAWN: _NEW_ROUND,
}


class WaitKind(StrEnum):
    """Why a run is suspended."""

    GATE = "gate"
    TIMER = "timer"
    EVENT = "event"
    HOLD = "hold"  # an operator's stop
    ATTENTION = "attention"  # a person must look


class WaitState(StrEnum):
    """A wait is open until exactly one thing ends it."""

    OPEN = "open"
    RESOLVED = "resolved"
    EXPIRED = "expired"
    WITHDRAWN = "withdrawn"


class Attention(StrEnum):
    """Why a person must look. A run with such an open wait is stuck."""

    IN_DOUBT = "in doubt"
    CONFLICT = "conflict"
    BUDGET = "budget spent"
    RETRIES = "retries spent"
    CRASH_LOOP = "crash loop"
    CODE_MISSING = "code missing"
    INCOMPATIBLE = "code incompatible"
    UNDO_FAILED = "undo failed"
    FACTS = "facts no longer true"
    NOT_ASKED_AGAIN = "effect not asked again"


class CheckpointKind(StrEnum):
    """What a checkpoint was written for."""

    START = "start"
    STEP = "step"
    SUSPEND = "suspend"
    EDIT = "edit"
    SKIP = "skip"
    FORK = "fork"
    END = "end"


class AttemptEnd(StrEnum):
    """How an attempt let go of its run."""

    ENDED = "ended"
    SUSPENDED = "suspended"
    RETRYING = "retrying"
    RELEASED = "released"
    LOST = "lost"


class EventKind(StrEnum):
    """The ledger's events: each names what has just become true."""

    STARTED = "started"
    RESUMED = "resumed"
    ATTEMPT_LOST = "attempt lost"
    INTENT = "intent"
    GATED = "gated"
    APPROVED = "approved"
    REJECTED = "rejected"
    EXPIRED = "expired"
    WITHDRAWN = "withdrawn"
    ASKED_BACK = "asked back"
    EDITED = "edited"
    NEW_ROUND = "new round"
    REFUSED_DECISION = "refused decision"
    SENT = "sent"
    NOT_SENT = "not sent"
    NO_ANSWER = "no answer"
    LATE_ANSWER = "late answer"
    APPLIED = "applied"
    FAILED = "failed"
    LOOKED_UP = "looked up"
    ADOPTED = "adopted"
    IN_DOUBT = "in doubt"
    VERDICT_PROPOSED = "verdict proposed"
    VERDICT = "verdict"
    LEFT_IN_DOUBT = "left in doubt"
    LINKED = "linked"
    ATTENTION = "attention"
    SETTLED = "settled"
    HELD = "held"
    RELEASED = "released"
    RETRIED = "retried"
    SKIPPED = "skipped"
    STATE_EDITED = "state edited"
    FORKED = "forked"
    CANCEL_ASKED = "cancel asked"
    COMPENSATION_ASKED = "compensation asked"
    NOT_UNDOABLE = "not undoable"
    COMPLETED = "completed"
    RUN_FAILED = "run failed"
    CANCELLED = "cancelled"
    COMPENSATED = "compensated"
    PARTLY_COMPENSATED = "partly compensated"
    PRUNED = "pruned"
    RESTORED = "restored"


K = EventKind
#: What the engine writes of its own on the way of every run. All other events are acts: somebody decided, ordered,
#: changed or was refused something, or Interlock did what takes something away. The log shows acts alone; their
#: indexes leave these out, so that the way of a run pays nothing for them.
COURSE = frozenset(
    {
        K.STARTED, K.RESUMED, K.ATTEMPT_LOST, K.INTENT, K.GATED, K.SENT, K.NOT_SENT, K.NO_ANSWER, K.LATE_ANSWER,
        K.APPLIED, K.FAILED, K.LOOKED_UP, K.ADOPTED, K.IN_DOUBT, K.LINKED, K.ATTENTION, K.NOT_UNDOABLE, K.COMPLETED,
        K.RUN_FAILED, K.CANCELLED, K.COMPENSATED, K.PARTLY_COMPENSATED,
    }
)  # fmt: skip


class HoldScope(StrEnum):
    """What a legal hold is about."""

    RUN = "run"
    SUBJECT = "subject"
    SEARCH = "search"


class ActKind(StrEnum):
    """Acts that belong to no run: each names what has just been done, to which `durable.acts` says how."""

    SIGNED_IN = "signed in"
    SIGNED_OUT = "signed out"
    SIGN_IN_REFUSED = "sign-in refused"
    REFUSED = "refused"
    MORE_REFUSED = "more refused"
    PERSON_ADDED = "person added"
    PERSON_CHANGED = "person changed"
    PERSON_REMOVED = "person removed"
    ROLES_CHANGED = "roles changed"
    RIGHTS_CHANGED = "rights changed"
    ROLE_ADDED = "role added"
    ROLE_CHANGED = "role changed"
    ROLE_REMOVED = "role removed"
    RIGHT_CHANGED = "right changed"
    RIGHT_REMOVED = "right removed"
    LOOK_ASKED = "look-up asked"
    VIEW_SAVED = "view saved"
    VIEW_DELETED = "view deleted"
    BULK_DRAFTED = "bulk act drafted"
    BULK_STARTED = "bulk act started"
    BULK_STOPPED = "bulk act stopped"
    BULK_ENDED = "bulk act ended"
    EXPORT_ASKED = "export asked"
    EXPORT_MADE = "export made"
    EXPORT_TAKEN = "export downloaded"
    EXPORT_STOPPED = "export stopped"
    EXPORT_FAILED = "export failed"
    EXPORT_EXPIRED = "export expired"
    EXPORT_DELETED = "export deleted"
    DOSSIER_TAKEN = "dossier taken"
    STOP_ORDERED = "stop ordered"
    STOP_LIFTED = "stop lifted"
    RESTORE_BEGUN = "restore begun"
    RESTORE_CHECKED = "restore checked"
    LEGAL_HOLD_SET = "legal hold set"
    LEGAL_HOLD_LIFTED = "legal hold lifted"
    ERASURE_ASKED = "erasure asked"
    ERASURE_AGREED = "erasure agreed"
    ERASURE_WITHDRAWN = "erasure withdrawn"
    ERASURE_ENDED = "erasure ended"
    ERASED = "erased"
    STATEMENT_ASKED = "statement asked"
    STATEMENT_MADE = "statement made"
    DIFFERENCE_EXPLAINED = "difference explained"
    RETENTION_CHANGED = "retention changed"
    RETENTION_PASSED = "retention passed"
    LEDGER_CUT = "ledger cut"


class EraseReason(StrEnum):
    """Why somebody's data is erased. A list and not free words, which could name them: it is kept for ever."""

    ASKED = "the person asked for it"
    NOT_NEEDED = "no longer needed"
    UNLAWFUL = "should not have been kept"
    ORDERED = "an authority ordered it"


class ErasureState(StrEnum):
    """What became of one run of an erasure."""

    WAITING = "waiting"
    ERASED = "erased"
    LEFT = "left"  # it names others as well, and whoever asked has left it
