"""What a legal hold by search holds: the runs of the effects that the search of the ledger finds."""

from __future__ import annotations

from datetime import datetime

from django.db.models import QuerySet

from approvals import catalogue
from approvals.ledger_query import parse
from approvals.queries import searching, subjects
from durable.errors import Invalid
from durable.models import Effect


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
