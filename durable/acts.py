"""The log of acts that belong to no run: who did what to whom or what, why, and what it was before and after.

An act is an event of the ledger, in a chain of its object's own (`person:7`, `bulk:12`): guarded, hashed and kept as
those of runs are. It is written in the transaction that makes it true, so `record` demands one: what can't be logged is
not done. Bodies hold no personal data and no secret; what a person wrote, and where from, is sealed
under the object's own key.

What changes people, roles and rights is logged by the database itself, whatever changes it; `acting` and `naming` tell
it by whom.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from django.db import Error, connection, connections, transaction

from durable import journal, vault
from durable.beats import inside
from durable.digest import canonical, digest
from durable.journal import one_line
from durable.models import Run
from durable.states import ActKind
from durable.text import check_text

#: The actor of what somebody did who had not signed in. No one can sign in by this name.
STRANGER = "(not signed in)"
#: The actor of what the sign-in changes by itself, before it knows whom it lets in.
SIGN_IN = "(sign-in)"
#: The chain of what strangers did, by whatever name.
STRANGERS = "strangers"
_RUN = "run-"

_INSERT = """
INSERT INTO durable_ledgerevent (run_ref, kind, effect_key, actor, body)
VALUES (%(about)s, %(kind)s, %(concerns)s, %(actor)s, %(body)s) RETURNING id
"""


def about(kind: str, number: int) -> str:
    """Name an object outside of runs, as its chain is called."""
    return f"{kind}:{number}"


def person(number: int) -> str:
    """Name a person, by the number of their row: they may take another name."""
    return about("person", number)


def record(
    kind: ActKind,
    *,
    actor: str,
    about: str,
    before: Mapping[str, Any] | None = None,
    after: Mapping[str, Any] | None = None,
    reason: str = "",
    concerns: str = "",
    body: Mapping[str, Any] | None = None,
) -> None:
    """Log an act on `about` in the caller's transaction.

    `about` is an object (see `about`), or the id of a run or the key of an effect: then it stands in the run's chain.
    `before` and `after` are what it changed, as plain JSON; `body` further facts: none of them personal, none secret.
    `reason` is a person's words, which are sealed. `concerns` names another object, by which the act is found as well.
    Raises RuntimeError outside of a transaction: the log must not stand without the act, nor the act without the log.
    """
    inside(f"{kind} of {about} is to be logged")
    check_text(reason, "reason")
    facts = dict(body or {})
    facts |= {name: dict(part) for name, part in (("before", before), ("after", after)) if part is not None}
    if about.startswith(_RUN):
        run = Run.objects.get(ref=about.partition(":")[0])
        key = about if ":" in about else concerns
        journal.record(run, kind, actor=actor, effect_key=key, words=reason, body=facts)
        return
    if reason:
        facts["words"] = digest(reason)
    values = {
        "about": about,
        "kind": kind.value,
        "concerns": concerns,
        "actor": one_line(actor),
        "body": canonical(facts).decode(),
    }
    with connection.cursor() as cursor:
        cursor.execute(_INSERT, values)
        event: int = cursor.fetchone()[0]
    if reason:
        vault.seal_act(event, about, reason)


@contextmanager
def acting(actor: str, reason: str = "", *, using: str = "default") -> Iterator[None]:
    """One transaction, in which the database logs changes of people, roles and rights as this actor's.

    For programs and shells. `reason` is sealed beside each of them; it takes the application's connection.
    """
    check_text(reason, "reason")
    assert using == "default" or not reason
    with transaction.atomic(using=using):
        before = _set(
            using, {"actor": one_line(actor), "words": digest(reason) if reason else "", "made": ""}
        )
        yield
        made = _set(using, before)["made"]
        if reason:
            for event, chain in _chains(using, [int(one) for one in made.split(",") if one]):
                vault.seal_act(event, chain, reason)


@contextmanager
def naming(actor: str) -> Iterator[None]:
    """Let the database log what this connection changes as this actor's, however many transactions it takes."""
    _name(actor)
    try:
        yield
    finally:
        try:
            if not connection.needs_rollback:
                _name("")
        except Error:  # the session is gone, and the name with it
            connection.close()


def _name(actor: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('interlock.actor', %s, false)", [one_line(actor)])


def _set(using: str, values: Mapping[str, str]) -> dict[str, str]:
    """Set values for the rest of this transaction; returns what they were."""
    before = {}
    with connections[using].cursor() as cursor:
        for name, value in values.items():
            cursor.execute(
                "SELECT coalesce(current_setting(%(name)s, true), ''), set_config(%(name)s, %(value)s, true)",
                {"name": f"interlock.{name}", "value": value},
            )
            before[name] = str(cursor.fetchone()[0])
    return before


def _chains(using: str, events: list[int]) -> list[tuple[int, str]]:
    with connections[using].cursor() as cursor:
        cursor.execute("SELECT id, run_ref FROM durable_ledgerevent WHERE id = ANY(%s) ORDER BY id", [events])
        return list(cursor.fetchall())
