"""What retention asks of the console: which runs a legal hold by search holds, and that gates go with their effects."""

from __future__ import annotations

from datetime import datetime

from django.db.models import QuerySet

from approvals import catalogue
from approvals.ledger_query import parse
from approvals.queries import searching, subjects
from durable.errors import Invalid
from durable.models import Effect
from durable.sql import answers, count

_GATES = "SELECT id FROM approvals_gate WHERE effect_id = ANY(%(effects)s::bigint[])"
#: What every round has shown, and what those who decided said. A box is never deleted, only emptied.
_EMPTY = """
UPDATE durable_sealed SET box = ''::bytea WHERE id IN (
    SELECT payload_id FROM approvals_gate WHERE id = ANY(%(gates)s::bigint[])
    UNION SELECT sealed_id FROM approvals_decision WHERE gate_id = ANY(%(gates)s::bigint[])
)
"""
_DECISIONS = "DELETE FROM approvals_decision WHERE gate_id = ANY(%(gates)s::bigint[])"
_GONE = "DELETE FROM approvals_gate WHERE id = ANY(%(gates)s::bigint[])"


def runs(text: str, since: datetime) -> QuerySet[Effect, int]:
    """The numbers of the runs that have an effect which a search finds; its `today` is the day of `since`.

    Raises Invalid where it can't be understood, asks for nothing, or can't be looked up.
    """
    catalogue.load()  # a worker may not know yet what kinds of subjects there are
    query = parse(text, since, subjects.kinds())
    search = searching.look_up(query)
    if search.problems:
        raise Invalid("search", search.problems[0].rstrip("."))
    if not query.parts:
        raise Invalid("search", "say what to look for; without a word it would find everything")
    return search.found.order_by().values_list("run_id", flat=True)


def let_go(effects: list[int]) -> None:
    """Delete the gates and decisions of effects that go with their period, in the caller's transaction, and empty what
    was sealed for them.

    The database lets a decision go of which no event of the ledger speaks any more, and no other.
    """
    gates = {"gates": [pk for (pk,) in answers(_GATES, {"effects": effects})]}
    count(_EMPTY, gates)
    count(_DECISIONS, gates)
    count(_GONE, gates)
