"""Rows on their way into the database: as text for COPY, numbered within the share of their batch."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from durable import names

#: Runs of one batch. What is random is so within its batch: another size is another database.
BATCH = 500
#: Rows of one run in a table that counts; a batch's numbers begin after the most that those before it can have used.
MOST = 100

#: The columns that are written; all others are null, or the database's own default says what they are.
COLUMNS: dict[str, tuple[str, ...]] = {
    name: tuple(columns.split())
    for name, columns in {
        "durable_budget": "id steps_limit steps_used tokens_limit tokens_used tokens_reserved deadline",
        "durable_purse": "id budget_id currency limit_minor reserved_minor spent_minor",
        "durable_branch": "id base_count",
        "durable_run": "id ref agent start_key input input_digest requester durability state step visit tries version "
        "branch_id message_count attempt nonce worker crashes due_at held undo_after budget_id result error created_at "
        "changed_at ended_at",
        "durable_sealkey": "id run_id wrapped",
        "durable_attempt": "id run_id number worker claimed_at ended_at how",
        "durable_checkpoint": "id run_id version kind step visit next_step next_visit attempt state state_version "
        "progress branch_id message_count compaction_base budget at",
        "durable_message": "id branch_id no role content at",
        "durable_frozen": "id run_id step visit ordinal tool args_digest result answered reserved tokens fetched_at "
        "fresh_until",
        "durable_sealed": "id run_id digest box at",
        "durable_effect": "id run_id key step visit ordinal link undo_of_id tool tool_version effect_class "
        "digest_asked digest payload_asked_id payload_id facts_id words_id said_id vendor amount_minor currency reason "
        "once_per state round approved_round sends open_sends error_saved first_sent_at last_sent_at send_by looks "
        "next_look_at receipt_id proof_id adopted failure recorded_at settled_at applied_no",
        "durable_subject": "id effect_id run_id kind hash",
        "durable_subjectname": "kind hash grams box",
        "durable_wait": "id run_id kind name step visit ordinal effect_id waits_for detail state opened_at deadline "
        "answer closed_at closed_by",
        "durable_ledgerevent": "id run_ref no kind effect_key actor body at hash",
        "durable_eventdetail": "id event_id sealed_id",
        "durable_chain": "run_ref no head",
        "approvals_gate": "id wait_id effect_id round state digest payload_id reason needed opened_at decide_by "
        "act_within act_by used_at closed_at",
        "approvals_decision": "id gate_id person_id verdict digest round sealed_id authenticated at",
    }.items()
}
#: Of these a run has exactly one, which bears the run's own number.
SINGLE = ("durable_run", "durable_budget", "durable_branch", "durable_sealkey")

_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode


def canonical(value: Any) -> str:
    """Canonical JSON of plain values without floats, for which it is the same as RFC 8785, and quicker."""
    return _encode(value)


def _escaped(text: str) -> str:
    if "\\" in text or "\n" in text or "\t" in text or "\r" in text:
        text = text.replace("\\", "\\\\").replace("\n", "\\n").replace("\t", "\\t").replace("\r", "\\r")
    return text


#: How a value reads in COPY's text; moments are without a zone, and mean UTC.
_TEXT: dict[type, Callable[[Any], str]] = {
    type(None): lambda _: "\\N",
    bool: lambda value: "t" if value else "f",
    int: str,
    str: _escaped,
    bytes: lambda value: "\\\\x" + value.hex(),
    datetime: lambda value: value.isoformat() + "+00",
    timedelta: lambda value: f"{value.days} days {value.seconds} seconds {value.microseconds} microseconds",
    dict: lambda value: _escaped(_encode(value)),
    list: lambda value: f"{{{','.join(map(str, value))}}}",
}


class Rows:
    """The rows of one batch, table by table."""

    def __init__(self, batch: int, named: set[str] | None = None) -> None:
        """`named` holds the hashes of names that other batches have written down already."""
        self.lines: dict[str, list[str]] = {table: [] for table in COLUMNS}
        self.named = set() if named is None else named
        self._last = dict.fromkeys(COLUMNS, batch * BATCH * MOST)

    def new_id(self, table: str) -> int:
        """Return a number for a row of `table` that no other row of the database has."""
        self._last[table] += 1
        return self._last[table]

    def write(self, table: str, *values: Any) -> None:
        """Write a row down: its values, in the order of `COLUMNS`."""
        self.lines[table].append("\t".join([_TEXT[type(value)](value) for value in values]))

    def add(self, table: str, *values: Any) -> int:
        """Write a row down under a new number, which is returned; `values` without it."""
        number = self.new_id(table)
        self.write(table, number, *values)
        return number

    def name(self, kind: str, hash: str, name: str) -> None:
        """Write a subject's name down for those who search for a part of it; once."""
        if hash not in self.named:
            self.named.add(hash)
            self.write("durable_subjectname", kind, hash, names.grams(name), names.box(hash, name))

    def text(self) -> dict[str, bytes]:
        """Return what COPY reads, for each table that has rows."""
        return {table: ("\n".join(lines) + "\n").encode() for table, lines in self.lines.items() if lines}
