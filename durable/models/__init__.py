"""Columns, constraints and indexes of the engine. No behaviour: `transitions` and `journal` write here."""

from __future__ import annotations

from durable.models.effects import Chain, Effect, EventDetail, LedgerEvent, Sealed, SealKey, Subject
from durable.models.progress import Branch, Checkpoint, Frozen, Message
from durable.models.runs import Attempt, Budget, Purse, Recovery, Run, Signal, Stop, Wait

#: Tables in which the application may insert and read, and nothing else.
APPEND_ONLY_TABLES = (LedgerEvent._meta.db_table,)

__all__ = [
    "APPEND_ONLY_TABLES",
    "Attempt",
    "Branch",
    "Budget",
    "Chain",
    "Checkpoint",
    "Effect",
    "EventDetail",
    "Frozen",
    "LedgerEvent",
    "Message",
    "Purse",
    "Recovery",
    "Run",
    "SealKey",
    "Sealed",
    "Signal",
    "Stop",
    "Subject",
    "Wait",
]
