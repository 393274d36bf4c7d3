"""States of gates, bulk acts and exports, and the verdicts that people give. Pure values, no database."""

from __future__ import annotations

from enum import StrEnum


class GateState(StrEnum):
    """Where one asking of a gate stands. Only `open` and `asked back` still take an answer."""

    OPEN = "open"
    APPROVED = "approved"
    REJECTED = "rejected"
    EXPIRED = "expired"
    WITHDRAWN = "withdrawn"
    SUPERSEDED = "superseded"
    ASKED_BACK = "asked back"


#: Somebody may still answer.
LIVE = frozenset({GateState.OPEN, GateState.ASKED_BACK})
LIVE_VALUES = [state.value for state in sorted(LIVE)]


class Verdict(StrEnum):
    """What one person answered."""

    APPROVE = "approve"
    REJECT = "reject"
    EDIT = "edit"
    ASK_BACK = "ask back"
    LATE_REFUSAL = "late refusal"  # a rejection that came after decide-by: kept, with its words


#: A person gives at most one of these to one gate.
FINAL = frozenset({Verdict.APPROVE, Verdict.REJECT, Verdict.EDIT, Verdict.LATE_REFUSAL})
FINAL_VALUES = [verdict.value for verdict in sorted(FINAL)]
#: What a person may choose; a late refusal is what a rejection becomes.
CHOICES = frozenset({Verdict.APPROVE, Verdict.REJECT, Verdict.EDIT, Verdict.ASK_BACK})

#: How the verdicts read when told of somebody: "approved by Marta".
PAST: dict[Verdict, str] = {
    Verdict.APPROVE: "approved",
    Verdict.REJECT: "rejected",
    Verdict.EDIT: "edited",
    Verdict.ASK_BACK: "asked back",
    Verdict.LATE_REFUSAL: "refused, too late",
}


class BulkState(StrEnum):
    """Where a bulk act stands. It ends when every run has an outcome, or when somebody stops it."""

    DRAFTED = "drafted"  # shown, and nothing done
    GOING = "going"
    STOPPED = "stopped"
    DONE = "done"


class Outcome(StrEnum):
    """What became of a bulk act on one run."""

    WAITING = "waiting"
    DONE = "done"
    REFUSED = "refused"
    SKIPPED = "not tried"  # it did not fit when the act was shown, or the act was stopped before its turn


class ExportState(StrEnum):
    """Where an export stands. Its file is there only while it is made, and goes with every other state."""

    ASKED = "asked"
    MAKING = "being made"
    MADE = "made"
    STOPPED = "stopped"
    FAILED = "failed"
    EXPIRED = "expired"
    DELETED = "deleted"


#: Somebody still waits for it.
UNDER_WAY = frozenset({ExportState.ASKED, ExportState.MAKING})
UNDER_WAY_VALUES = [state.value for state in sorted(UNDER_WAY)]


class ExportForm(StrEnum):
    """What a file is made of."""

    CSV = "csv"
    JSONL = "jsonl"
    BUNDLE = "bundle"
