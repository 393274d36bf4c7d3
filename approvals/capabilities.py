"""What a person may be able to do, and which role brings it. Each capability is one permission of the database.

Roles are groups; an admin may move permissions between them. Being a superuser brings none of these: nobody decides
about money because they may install software.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise


class Capability(StrEnum):
    """One thing that a person may do; the value is the permission's codename."""

    SEE_GATES = "see_gates"
    DECIDE = "decide_gates"
    ANSWER_BACK = "answer_reviewers"
    SEE_RUNS = "see_runs"
    STEER_RUNS = "steer_runs"
    EDIT_STATE = "edit_run_state"
    SEE_LEDGER = "see_ledger"
    SETTLE = "settle_effects"
    SEE_TOOLS = "see_tools"
    SEE_SYSTEM = "see_system"
    SEE_LOG = "see_log"
    EXPORT = "export_ledger"
    ERASE = "erase_data"
    STATEMENTS = "ask_statements"
    HOLD_LEGALLY = "set_legal_holds"
    SET_RETENTION = "set_retention"


C = Capability

#: For the model's Meta: codename and what it allows.
PERMISSIONS: list[tuple[str, str | _StrPromise]] = [
    (C.SEE_GATES.value, "see gates and what waits at them"),
    (C.DECIDE.value, "decide at gates"),
    (C.ANSWER_BACK.value, "answer what a reviewer has asked back"),
    (C.SEE_RUNS.value, "see runs"),
    (C.STEER_RUNS.value, "hold, release, cancel, retry, skip, fork and compensate runs"),
    (C.EDIT_STATE.value, "edit the working state of a stopped run"),
    (C.SEE_LEDGER.value, "read the ledger"),
    (C.SETTLE.value, "say what became of an effect in doubt"),
    (C.SEE_TOOLS.value, "see tools and their classes"),
    (C.SEE_SYSTEM.value, "see workers, queues and versions"),
    (C.SEE_LOG.value, "read the log of all acts"),
    (C.EXPORT.value, "take files out of the ledger"),
    (C.ERASE.value, "erase a person's data"),
    (C.STATEMENTS.value, "ask for statements of vendors and explain what differs"),
    (C.HOLD_LEGALLY.value, "set and lift legal holds"),
    (C.SET_RETENTION.value, "set how long what is kept"),
]

_READS = frozenset({C.SEE_GATES, C.SEE_RUNS, C.SEE_LEDGER, C.SEE_TOOLS})

REVIEWER, OPERATOR, AUDITOR, ADMIN = "reviewer", "operator", "auditor", "admin"

ROLES: dict[str, frozenset[Capability]] = {
    REVIEWER: _READS | {C.DECIDE},
    OPERATOR: _READS | {C.ANSWER_BACK, C.STEER_RUNS, C.EDIT_STATE, C.SETTLE, C.SEE_SYSTEM},
    AUDITOR: _READS | {C.SEE_LOG, C.EXPORT, C.STATEMENTS, C.HOLD_LEGALLY},
    ADMIN: _READS
    | {C.SEE_SYSTEM, C.SEE_LOG, C.EXPORT, C.ERASE, C.STATEMENTS, C.HOLD_LEGALLY, C.SET_RETENTION},
}
