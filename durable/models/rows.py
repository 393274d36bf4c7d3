"""Rows of hand-written statements as the models that they are: the ORM's own way there costs more than they do."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from typing import Any, TypeVar

from django.db import connection
from django.db.models import JSONField, Model, QuerySet
from django.db.models.sql import UpdateQuery

M = TypeVar("M", bound=Model)


def columns(model: type[Model], alias: str) -> str:
    """Return the model's columns as a list for SQL, in the order in which `made` takes them."""
    return ", ".join(f"{alias}.{field.column}" for field in model._meta.concrete_fields)


def made(model: type[M], row: Sequence[Any]) -> M:
    """Return the object whose `columns` a statement has answered with, as if the ORM had loaded it."""
    names, json_places = _shape(model)
    values = list(row)
    for place in json_places:
        if values[place] is not None:
            values[place] = json.loads(values[place])
    return model.from_db("default", names, values)


def update(row: M, believed: QuerySet[M], values: dict[str, Any]) -> bool:
    """Write `values` where `believed` finds this row, and read it anew into `row`, in one statement. False where it
    does not find it; then nothing has changed.
    """
    model = type(row)
    query = believed.filter(pk=row.pk).query.chain(UpdateQuery)
    assert isinstance(query, UpdateQuery)
    query.add_update_values(values)
    statement, parameters = query.get_compiler(connection=connection).as_sql()
    with connection.cursor() as cursor:
        cursor.execute(f"{statement} RETURNING {columns(model, model._meta.db_table)}", parameters)
        written = cursor.fetchone()
    if written is None:
        return False
    _become(row, made(model, written))
    return True


def _become(row: Model, newer: Model) -> None:
    """Take over what a newer reading has, and forget the objects that were loaded with the old one."""
    for field in row._meta.concrete_fields:
        setattr(row, field.attname, getattr(newer, field.attname))
    row._state.fields_cache.clear()


@cache
def _shape(model: type[Model]) -> tuple[list[str], list[int]]:
    fields = model._meta.concrete_fields
    places = [place for place, field in enumerate(fields) if isinstance(field, JSONField)]
    return [field.attname for field in fields], places
