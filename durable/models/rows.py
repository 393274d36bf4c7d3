"""Rows of hand-written statements as the models that they are: the ORM's own way there costs more than they do."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, TypeVar

from django.db import connection
from django.db.models import Field, JSONField, Model
from django.db.models.sql import Query

from durable.models.fields import Clock
from durable.sql import answer

M = TypeVar("M", bound=Model)

#: What `update` demands of the row beside its number.
BELIEVED = "AND state = %(believed)s"


def columns(model: type[Model], alias: str, only: tuple[str, ...] = ()) -> str:
    """Return the model's columns, or `only` those of these attributes, as a list for SQL in the order that `made` takes
    them in.
    """
    return ", ".join(f"{alias}.{field.column}" for field in _fields(model, only))


def made(model: type[M], row: Sequence[Any], only: tuple[str, ...] = ()) -> M:
    """Return the object whose `columns` a statement has answered with, as if the ORM had loaded it. What is not among
    `only` is loaded when it is asked for.
    """
    names, json_places = _shape(model, only)
    values = list(row)
    for place in json_places:
        if values[place] is not None:
            values[place] = json.loads(values[place])
    return model.from_db("default", names, values)


def parted(row: Sequence[Any], *models: type[Model]) -> list[Sequence[Any]]:
    """Cut a row that has the `columns` of several models, one after the other, into one for each, and what is left."""
    parts, begin = [], 0
    for model in models:
        end = begin + len(model._meta.concrete_fields)
        parts.append(row[begin:end])
        begin = end
    return [*parts, row[begin:]]


def update(row: M, believed: str, values: Mapping[str, Any]) -> bool:
    """Write `values` where the row is in the state `believed`, and read it anew into `row`, in one statement. False
    where it is not; then nothing has changed.

    Values are plain, `Clock()`, or expressions over the row's own columns.
    """
    model = type(row)
    given: dict[str, Any] = {"id": row.pk, "believed": believed}
    written = ", ".join(_assigned(model, name, value, given) for name, value in values.items())
    table = model._meta.db_table
    newer = answer(
        f"UPDATE {table} SET {written} WHERE id = %(id)s {BELIEVED} RETURNING {columns(model, table)}", given
    )
    if newer is None:
        return False
    _become(row, made(model, newer))
    return True


def _assigned(model: type[Model], name: str, value: Any, given: dict[str, Any]) -> str:
    """One column's part of an UPDATE; what it takes from outside is put into `given`."""
    field = model._meta.get_field(name)
    assert isinstance(field, Field)
    if isinstance(value, Clock):
        return f"{field.column} = {Clock.template}"
    if hasattr(value, "resolve_expression"):
        query = Query(model)
        text, outside = query.get_compiler(connection=connection).compile(value.resolve_expression(query))
        names = [f"{name}_{place}" for place in range(len(outside))]
        given.update(zip(names, outside, strict=True))
        return f"{field.column} = {text % tuple(f'%({each})s' for each in names)}"
    given[name] = field.get_db_prep_save(value.pk if isinstance(value, Model) else value, connection)
    return f"{field.column} = %({name})s"


def _become(row: Model, newer: Model) -> None:
    """Take over what a newer reading has, and forget the objects that were loaded with the old one."""
    for field in row._meta.concrete_fields:
        setattr(row, field.attname, getattr(newer, field.attname))
    row._state.fields_cache.clear()


def _fields(model: type[Model], only: tuple[str, ...]) -> list[Field[Any, Any]]:
    fields = list(model._meta.concrete_fields)
    if not only:
        return fields
    assert set(only) <= {field.attname for field in fields}, f"{model.__name__} has no such column"
    return [field for field in fields if field.attname in only]


@cache
def _shape(model: type[Model], only: tuple[str, ...]) -> tuple[list[str], list[int]]:
    fields = _fields(model, only)
    places = [place for place, field in enumerate(fields) if isinstance(field, JSONField)]
    return [field.attname for field in fields], places
