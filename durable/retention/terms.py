"""The policy that is in force: how long what is kept. Whoever may changes it, with a reason; the log has both.

The database itself refuses one in which the ledger doesn't outlive all else, or is kept for less than twelve months.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any

from django.db import connection

from durable import acts
from durable.beats import committing
from durable.errors import Conflict, Invalid
from durable.models import OF_RUNS, RetentionPolicy
from durable.models.retention import LEDGER_FLOOR, MOST_DAYS
from durable.runs import check_actor
from durable.states import ActKind

#: The chain of what was done about retention.
ABOUT = "retention"
_LOCK = 0x1A7E_4003


@dataclass(frozen=True, slots=True)
class Terms:
    """Days after which each kind goes; None is never. Days count from a run's end, for the ledger from the event."""

    checkpoints: int | None = 7
    frozen: int | None = 7
    messages: int | None = None
    payloads: int | None = None
    ledger: int | None = None

    def of(self, kind: str) -> int | None:
        """The days of one kind by its name."""
        days: int | None = getattr(self, kind)
        return days

    @property
    def shortest(self) -> int | None:
        """The days after whose end something of a run may go at the earliest."""
        return min((days for days in map(self.of, OF_RUNS) if days is not None), default=None)

    def plain(self) -> dict[str, Any]:
        """By kind, as the log has it: `for ever` where nothing goes."""
        return {name: "for ever" if days is None else days for name, days in asdict(self).items()}


KINDS = tuple(field.name for field in fields(Terms))


def policy() -> RetentionPolicy:
    """The policy in force."""
    return RetentionPolicy.objects.order_by("-pk")[0]


def terms(of: RetentionPolicy) -> Terms:
    """What a policy says."""
    return Terms(**{name: getattr(of, name) for name in KINDS})


def standing() -> Terms:
    """The terms in force, which nobody changes before the caller's transaction ends: what goes in it goes by them."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock_shared(%s)", [_LOCK])
    return terms(policy())


def check(wanted: Terms) -> None:
    """Refuse terms that the database would refuse, by the field that is wrong. Raises Invalid."""
    for name in KINDS:
        days = wanted.of(name)
        if days is not None and not 1 <= days <= MOST_DAYS:
            raise Invalid(name, f"must be 1 to {MOST_DAYS:,} days, not {days:,}")
    if wanted.ledger is None:
        return
    if wanted.ledger < LEDGER_FLOOR:
        raise Invalid("ledger", f"must be kept for twelve months at least, {LEDGER_FLOOR} days")
    for name in OF_RUNS:
        days = wanted.of(name)
        if days is None or days >= wanted.ledger:
            raise Invalid(
                name, f"must go before the ledger, which proves what was done: under {wanted.ledger:,} days"
            )


def change(
    wanted: Terms, *, actor: str, reason: str, seen: int, shown: dict[str, Any] | None = None
) -> RetentionPolicy:
    """Put other terms into force. `seen` is the policy that the person saw, `shown` what they were told would go.

    Raises Invalid, and Conflict where somebody else has changed it since, or nothing would change.
    """
    check_actor(actor, reason)
    check(wanted)
    with committing("command"):
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
        present = policy()
        before = terms(present)
        if present.pk != seen:
            raise Conflict(f"{present.actor} has changed the policy since; look at it again")
        if wanted == before:
            raise Conflict("that is what the policy says already")
        made = RetentionPolicy.objects.create(actor=actor, **asdict(wanted))
        changed = {name for name in KINDS if wanted.of(name) != before.of(name)}
        acts.record(
            ActKind.RETENTION_CHANGED,
            actor=actor,
            about=ABOUT,
            before={name: value for name, value in before.plain().items() if name in changed},
            after={name: value for name, value in wanted.plain().items() if name in changed},
            reason=reason,
            body={"policy": made.pk, "shown": shown or {}},
        )
    made.refresh_from_db()
    return made
