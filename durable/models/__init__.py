"""Columns, constraints and indexes of the engine. No behaviour: `transitions` and `journal` write here."""

from __future__ import annotations

from durable.models.effects import (
    ACTS,
    BY_MACHINE,
    ActKey,
    ActWords,
    Chain,
    Effect,
    EventDetail,
    LedgerEvent,
    Sealed,
    SealKey,
    Subject,
)
from durable.models.erasure import Erasure, ErasureRun
from durable.models.holds import FoundRun, HeldRun, LegalHold
from durable.models.progress import Branch, Checkpoint, Frozen, Message
from durable.models.retention import OF_RUNS, RetentionPass, RetentionPolicy, Stored
from durable.models.roots import AcceptedCut, Anchor, Cut, Mark, Root, SignKey
from durable.models.runs import Attempt, Budget, Purse, Recovery, Run, Signal, Stop, Wait
from durable.models.summary import EffectCell, EffectGroup, Indexed, SubjectName
from durable.models.vendor_statements import (
    Difference,
    Explanation,
    StatementRequest,
    StatementTotal,
    Unexplained,
    VendorStatement,
)

#: Tables in which the application may insert and read, and nothing else.
APPEND_ONLY_TABLES = tuple(
    model._meta.db_table
    for model in (LedgerEvent, Root, Cut, VendorStatement, StatementTotal, Difference, Explanation)
)

#: Which the application reads; only the owner, and triggers of the database's, write them.
OWNERS_TABLES = tuple(model._meta.db_table for model in (SignKey, AcceptedCut))

__all__ = [
    "ACTS",
    "APPEND_ONLY_TABLES",
    "BY_MACHINE",
    "OF_RUNS",
    "OWNERS_TABLES",
    "AcceptedCut",
    "ActKey",
    "ActWords",
    "Anchor",
    "Attempt",
    "Branch",
    "Budget",
    "Chain",
    "Checkpoint",
    "Cut",
    "Difference",
    "Effect",
    "EffectCell",
    "EffectGroup",
    "Erasure",
    "ErasureRun",
    "EventDetail",
    "Explanation",
    "FoundRun",
    "Frozen",
    "HeldRun",
    "Indexed",
    "LedgerEvent",
    "LegalHold",
    "Mark",
    "Message",
    "Purse",
    "Recovery",
    "RetentionPass",
    "RetentionPolicy",
    "Root",
    "Run",
    "SealKey",
    "Sealed",
    "SignKey",
    "Signal",
    "StatementRequest",
    "StatementTotal",
    "Stop",
    "Stored",
    "Subject",
    "SubjectName",
    "Unexplained",
    "VendorStatement",
    "Wait",
]
