"""The `tool` decorator: how an author declares a function that agents may call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from types import MappingProxyType
from typing import Any, overload

from durable.tools import registry
from durable.tools.definition import Tool
from durable.tools.facts import Facts, Misdeclared


@overload
def tool(function: Callable[..., Any], /) -> Tool: ...
@overload
def tool(
    *,
    name: str | None = None,
    reads: bool = False,
    idempotent_for: timedelta | None = None,
    vendor: str = "",
    account: str = "",
    version: int = 1,
    money: str | None = None,
    currency: str | None = None,
    subject: str | tuple[str, ...] | Mapping[str, str] = (),
    secret: tuple[str, ...] = (),
    once_per: tuple[str, ...] = (),
    reason: str | None = None,
    lookup_lag: timedelta = ...,
    in_flight: timedelta = ...,
    send_within: timedelta = ...,
    freshness: timedelta | None = None,
    target: str | None = None,
) -> Callable[[Callable[..., Any]], Tool]: ...
def tool(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    subject: str | tuple[str, ...] | Mapping[str, str] = (),
    **declared: Any,
) -> Tool | Callable[[Callable[..., Any]], Tool]:
    """Declare a tool: `@tool`, which claims nothing and is irreversible, or `@tool(...)` with facts.

    `reads`: it has no effect; takes its arguments alone. `idempotent_for`: how long the vendor honours a key.
    `vendor`, `account`: where it acts. `version`: raise it when equal arguments mean something else.
    `money`, `currency`: the arguments that hold the amount (a Decimal) and its ISO code ("currency" by default).
    `subject`: the arguments that say whom it concerns, or a mapping from kind to argument.
    `secret`: arguments that no page or log shows. `once_per`: arguments of which equal values gate a second effect.
    `reason`: the argument that says why, one of the words of its Literal or Enum: kept in clear, and summed up by.
    `lookup_lag`: how late the vendor's look-up may be. `in_flight`: how long a sent request may still act.
    `send_within`: time from the `sent` event to the end of the call. `freshness`: how long a read stays good.
    `target`: the argument that the receipt's target must equal.
    """

    def wrap(wrapped: Callable[..., Any]) -> Tool:
        called = name or wrapped.__name__
        if declared.get("money") is not None:
            declared["currency"] = declared.get("currency") or "currency"
        try:
            made = Tool(wrapped, called, Facts(subjects=_kinds(subject), **declared))
        except Misdeclared as error:
            raise Misdeclared(f"tool {called}: {error}") from error
        registry.register(made)
        return made

    return wrap if function is None else wrap(function)


def _kinds(subject: str | tuple[str, ...] | Mapping[str, str]) -> Mapping[str, str]:
    if isinstance(subject, Mapping):
        return MappingProxyType(dict(subject))
    return MappingProxyType({name: name for name in ((subject,) if isinstance(subject, str) else subject)})
