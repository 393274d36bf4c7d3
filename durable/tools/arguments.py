"""A function's arguments as a strict schema: from JSON to typed values and back, without loss."""

from __future__ import annotations

import inspect
import json
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, get_type_hints

from pydantic import BaseModel, ConfigDict, PydanticUserError, ValidationError, create_model
from pydantic_core import ErrorDetails

from durable.digest import plain
from durable.errors import Invalid
from durable.text import MAX_BYTES, MAX_DEPTH, join
from durable.tools.facts import Misdeclared
from durable.vendor import Call

MAX_TEXT = 100_000
"""Characters of one text argument."""

_STRICT = ConfigDict(
    strict=True,
    extra="forbid",
    str_max_length=MAX_TEXT,
    allow_inf_nan=False,
    arbitrary_types_allowed=False,
    protected_namespaces=(),
    validate_default=True,
)
_OWN_WORDS = {
    "missing": "is required; give it",
    "extra_forbidden": "is not an argument of this tool; take it out",
}


@dataclass(frozen=True, slots=True)
class Arguments:
    """The schema of one function's arguments, `call` left out."""

    model: type[BaseModel]

    @classmethod
    def of(cls, function: Callable[..., Any], *, reads: bool) -> Arguments:
        """The schema that the type hints of `function` state. Raises `Misdeclared` where they state none."""
        parameters = list(inspect.signature(function).parameters.values())
        try:
            hints = get_type_hints(function, include_extras=True)
        except NameError as error:
            raise Misdeclared(
                f"the type hints must be importable where the function stands: {error}"
            ) from error
        takes_call = bool(parameters) and hints.get(parameters[0].name) is Call
        if reads and takes_call:
            raise Misdeclared("a tool that reads takes its arguments alone, without a Call")
        if not reads and not takes_call:
            raise Misdeclared("the first parameter must be `call: Call`; declare reads=True if it only reads")
        fields = {found.name: _field(found, hints) for found in (parameters if reads else parameters[1:])}
        return cls(_model(function.__name__, fields))

    @property
    def names(self) -> frozenset[str]:
        """The names of all arguments."""
        return frozenset(self.model.model_fields)

    def annotation(self, name: str) -> object:
        """The bare type of an argument, its constraints left out."""
        return self.model.model_fields[name].annotation

    def validate(self, args: Mapping[str, Any]) -> dict[str, Any]:
        """Typed values of all arguments, defaults filled in. Refuses with `args.<path>` and the rule.

        Takes Python's own types (Decimal, datetime) as well as JSON; a number with a fraction is never an amount.
        """
        raw = plain(dict(args), "args", max_bytes=MAX_BYTES, max_depth=MAX_DEPTH)
        try:
            # JSON mode: strict, and yet a text may stand for a Decimal or a date, as in what was stored.
            model = self.model.model_validate_json(json.dumps(raw))
        except ValidationError as error:
            raise _refusal(error.errors(include_input=False, include_url=False)[0]) from None
        typed = dict(model)
        _refuse_floats(raw, typed, ())
        return typed


def as_json(typed: Mapping[str, Any]) -> dict[str, Any]:
    """Typed values as plain JSON: equal values give equal JSON (1.50 and 1.5 are one Decimal)."""
    built: dict[str, Any] = plain({name: _shorten(value, (name,)) for name, value in typed.items()}, "args")
    return built


def _field(parameter: inspect.Parameter, hints: Mapping[str, Any]) -> tuple[Any, Any]:
    name = parameter.name
    if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
        raise Misdeclared(f"every argument must have a name of its own; {name} is one of many")
    if name not in hints:
        raise Misdeclared(f"argument {name} needs a type hint: the schema comes from it")
    if name.startswith("_") or name == "model_config":
        raise Misdeclared(f"argument {name} needs another name")
    return hints[name], ... if parameter.default is parameter.empty else parameter.default


def _model(name: str, fields: dict[str, tuple[Any, Any]]) -> type[BaseModel]:
    try:
        with warnings.catch_warnings():
            # An argument may be called `copy` or `schema`: values are read from the fields, never as attributes.
            warnings.filterwarnings(
                "ignore", message="Field name .* shadows an attribute", category=UserWarning
            )
            made: type[BaseModel] = create_model(name, __config__=_STRICT, **fields)  # type: ignore[call-overload]  # typed for fields written out by name
            return made
    except PydanticUserError as error:
        raise Misdeclared(f"the type hints make no schema: {error.message}") from error


def _refusal(error: ErrorDetails) -> Invalid:
    message = error["msg"]
    rule = _OWN_WORDS.get(error["type"], message[:1].lower() + message[1:])
    return Invalid(join("args", *error["loc"]), rule)


def _refuse_floats(raw: object, typed: object, path: tuple[object, ...]) -> None:
    """Refuse a JSON number with a fraction where a Decimal is meant: it is no longer the number that was written."""
    if isinstance(typed, Decimal):
        if isinstance(raw, float):
            raise Invalid(
                join("args", *path), 'must be text such as "6.95", or a whole number: a float is not exact'
            )
    elif isinstance(typed, BaseModel):
        _refuse_floats(raw, dict(typed), path)
    elif isinstance(typed, Mapping) and isinstance(raw, Mapping):
        for key, item in typed.items():
            _refuse_floats(raw.get(key), item, (*path, key))
    elif isinstance(typed, (list, tuple)) and isinstance(raw, list):
        for place, (before, after) in enumerate(zip(raw, typed, strict=False)):
            _refuse_floats(before, after, (*path, place))


def _shorten(value: object, path: tuple[object, ...]) -> object:
    """The value with models opened, and each Decimal as text without idle zeros. Never rounds."""
    if isinstance(value, Decimal):
        try:
            text = str(plain(value))
        except Invalid as error:
            raise Invalid(join("args", *path), error.rule) from None
        return text.rstrip("0").rstrip(".") if "." in text else text
    if isinstance(value, BaseModel):
        return {name: _shorten(item, (*path, name)) for name, item in value}
    if isinstance(value, Mapping):
        return {key: _shorten(item, (*path, key)) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_shorten(item, (*path, place)) for place, item in enumerate(value)]
    return value
