"""How many there are, by plain SQL that reads as much as it takes: what the numbers on the pages are held against."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field

from django.conf import settings

from durable.digest import keyed_hash
from tests.bench import kit

COUNTED = 10_000
_NUMBER = r"([\d,]+\+?)"
_TOTALS = (
    re.compile(rf"<span>\d+ of {_NUMBER}</span>"),
    re.compile(rf">{_NUMBER} in this list"),
    re.compile(rf'"queue-h">Inbox</h1><span class="second">{_NUMBER} wait'),
)
_CHIP = re.compile(
    rf'<a href="[^"]*"[^>]*>(?:<span class="t-\w+">(?:(?!</a>).)*?</span>)?([A-Z][\w ]*) <span>{_NUMBER}</span></a>',
    re.S,
)
_DAY_ENDS = "date_trunc('day', now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC' + interval '1 day'"
_LIVE = "state IN ('open', 'asked back')"
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}

#: What each status of a query means beside the states.
WAITS = {
    "stuck": "kind = 'attention'",
    "waiting": "kind = 'gate'",
    "in-doubt": "kind = 'attention' AND name = 'in doubt'",
    "expiring": f"kind = 'gate' AND deadline < {_DAY_ENDS}",
    "held": "kind = 'hold'",
}
_VIEWS = {
    "Stuck": "stuck",
    "Waiting for people": "waiting",
    "In doubt": "in-doubt",
    "Expiring today": "expiring",
    "Held": "held",
}
_STATES = (
    "queued", "running", "suspended", "failing", "cancelling", "compensating", "completed", "failed", "cancelled",
    "compensated", "partly compensated",
)  # fmt: skip


@dataclass(frozen=True)
class Exactly:
    """What a page must say: its total, and the number on each chip, each as a query that counts it."""

    total: str = ""
    chips: Mapping[str, str] = field(default_factory=dict)
    capped: bool = True  # beyond 10,000 it says no more than that

    def check(self, page: str, address: str) -> None:
        """Refuse to report anything about a page that counts wrongly."""
        told = dict(_CHIP.findall(page))
        if self.total:
            found = next((one[1] for pattern in _TOTALS if (one := pattern.search(page))), "0")
            self._same(found, self.total, address)
        for label, query in self.chips.items():
            self._same(told.get(label, "nothing"), query, f"{label} of {address}")

    def _same(self, told: str, query: str, what: str) -> None:
        with kit.connect() as admin:
            number = int(kit.one(admin, query))
        words = f"{COUNTED:,}+" if self.capped and number > COUNTED else f"{number:,}"
        if told != words:
            raise SystemExit(f"{what}: it says {told} where {words} are; nothing is reported")


def count(table: str, where: str = "true") -> str:
    """Count the rows of a table."""
    return f"SELECT count(*) FROM {table} WHERE {where}"


def runs(query: str) -> Exactly:
    """What the list of runs must say for a query as people type it."""
    status, rest = "true", "true"
    for word in shlex.split(query):
        key, colon, value = word.partition(":")
        if colon and key == "status":
            status = " OR ".join(_status(one) for one in value.split(","))
        else:
            rest += f" AND ({_part(key, value) if colon else _text(query)})"
    chips = {state.capitalize(): count("durable_run r", f"state = '{state}' AND {rest}") for state in _STATES}
    views = {label: count("durable_run r", _status(one)) for label, one in _VIEWS.items()}
    return Exactly(
        count("durable_run r", f"({status}) AND {rest}"), {**chips, **views, "All": count("durable_run")}
    )


def _status(word: str) -> str:
    if word in WAITS:
        return f"EXISTS (SELECT FROM durable_wait WHERE run_id = r.id AND state = 'open' AND {WAITS[word]})"
    return f"state = '{word.replace('-', ' ')}'"


def _part(key: str, value: str) -> str:
    if key == "agent":
        return f"lower(agent) LIKE lower('{value}') || '%'"
    if key == "subject":
        return f"id IN (SELECT run_id FROM durable_subject WHERE hash IN ({_hashes(value)}))"
    if key == "ref":
        # Where too many begin so, nothing is looked for.
        wide = f"(SELECT count(*) FROM durable_run WHERE ref LIKE '{value}%') > {COUNTED}"
        return f"ref LIKE '{value}%' AND NOT {wide}"
    assert key == "older-than", key
    return f"created_at < now() - interval '{value[:-1]} {_UNITS[value[-1]]}'"


def _text(text: str) -> str:
    return " OR ".join(f"({_part(key, text)})" for key in ("agent", "subject", "ref"))


def hashed(text: str) -> list[str]:
    """The hashes under which effects about this order or customer are filed."""
    return [keyed_hash(kind, text, settings.INTERLOCK_HASH_KEY) for kind in ("order", "customer")]


def _hashes(text: str) -> str:
    return ", ".join(f"'{one}'" for one in hashed(text))


def ledger(text: str = "", state: str = "") -> Exactly:
    """What the ledger must say for a text and a state."""
    where, wide = "true", ""
    if text:
        wide = f"(SELECT count(*) FROM durable_effect WHERE key LIKE '{text}%') > {COUNTED}"
        about = f"id IN (SELECT effect_id FROM durable_subject WHERE hash IN ({_hashes(text)}))"
        where = f"(key LIKE '{text}%' OR receipt_id = '{text}' OR {about})"
    states = (
        "gated",
        "approved",
        "pending",
        "in doubt",
        "applied",
        "failed",
        "rejected",
        "expired",
        "withdrawn",
    )
    # Where too many keys begin so, nothing is looked for.
    where += f" AND NOT {wide}" if wide else ""
    chips = {one.capitalize(): count("durable_effect", f"state = '{one}' AND {where}") for one in states}
    every = count("durable_effect", where)
    return Exactly(chips[state.capitalize()] if state else every, {**chips, "All": every}, capped=bool(text))


def _since(period: str) -> str:
    if period == "7 days":
        return "date_bin('6 hours', now(), '2000-01-01 00:00Z') - interval '162 hours'"
    return "date_bin('1 hour', now(), '2000-01-01 00:00Z') - interval '23 hours'"


def behind(name: str, period: str = "24 hours") -> Exactly:
    """What a list behind a number of the first page must say."""
    since, gates = _since(period), "approvals_gate g JOIN durable_effect e ON e.id = g.effect_id"
    badly = "state IN ('failed', 'partly compensated')"
    moving = "state IN ('queued', 'running', 'failing', 'cancelling', 'compensating')"
    return Exactly({
        "in-flight": count("durable_run", moving),
        "stuck": count("durable_run r", _status("stuck")),
        "late": count("durable_run", "state = 'queued' AND due_at < now() - interval '1 minute'"),
        "sleeping": count(
            "durable_run r",
            "state = 'suspended' AND changed_at > now() - interval '1 hour'"
            " AND NOT EXISTS (SELECT FROM durable_wait WHERE run_id = r.id AND state = 'open')",
        ),
        "ended": count("durable_run", f"ended_at >= {since}"),
        "failed": count("durable_run", f"ended_at >= {since} AND {badly}"),
        "moved": count(
            "durable_effect",
            f"settled_at >= {since} AND state = 'applied' AND undo_of_id IS NULL AND currency = 'EUR'",
        ),
        "expiring": count("approvals_gate", f"{_LIVE} AND decide_by < {_DAY_ENDS}"),
        "irreversible": count(gates, f"g.{_LIVE} AND e.effect_class = 'irreversible'"),
        "asked-back": count("approvals_gate", "state = 'asked back'"),
        "decided": count("approvals_decision", f"at >= {since} AND verdict IN ('approve', 'reject')"),
    }[name])  # fmt: skip


def gates() -> Exactly:
    """What the inbox must say."""
    return Exactly(count("approvals_gate", _LIVE))


def compensation(state: str) -> Exactly:
    """What the list of ways back must say."""
    counts = {
        one: count("durable_run", f"state = '{one}'")
        for one in ("partly compensated", "compensating", "compensated")
    }
    return Exactly(counts[state], {one.capitalize(): query for one, query in counts.items()})
