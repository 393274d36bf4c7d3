"""Small helpers for columns: states as checked text, and the database's clock as a default."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Any

from django.db import models
from django.db.models.expressions import Func


class Clock(Func):
    """PostgreSQL's clock_timestamp(): the only clock that leases, deadlines and events know."""

    template = "clock_timestamp()"
    output_field = models.DateTimeField()


class Moment(Func):
    """The same clock's moment at which the statement began: one for all rows, so that an index can find what is before
    it. For lists of what is due; whatever fences something asks `Clock`, row by row.
    """

    template = "statement_timestamp()"
    output_field = models.DateTimeField()


def state_field(default: StrEnum | None = None, **options: Any) -> models.TextField[str, str]:
    """A text column that holds a state; `one_of` gives the check that goes with it."""
    if default is not None:
        options["default"] = default.value
    return models.TextField(**options)


def one_of(column: str, values: Iterable[StrEnum], name: str) -> models.CheckConstraint:
    """The database refuses a state that the code does not know."""
    return models.CheckConstraint(
        condition=models.Q(**{f"{column}__in": [v.value for v in values]}), name=name
    )
