"""Rows of hand-written statements as the models that they are: the ORM's own way there costs more than they do."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from typing import Any, TypeVar

from django.db.models import JSONField, Model

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


@cache
def _shape(model: type[Model]) -> tuple[list[str], list[int]]:
    fields = model._meta.concrete_fields
    places = [place for place, field in enumerate(fields) if isinstance(field, JSONField)]
    return [field.attname for field in fields], places
