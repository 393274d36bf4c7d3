"""What differs between two payloads, argument by argument, with secrets masked on both sides."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from approvals import opened
from approvals.errors import Difference
from durable import tools
from durable.digest import canonical, sha256
from durable.errors import InterlockError
from durable.models import Run, Sealed


def read_public(sealed: Sealed, run: Run) -> dict[str, Any]:
    """Return a payload with its secret arguments masked: what a page may show. Raises Erased or Tampered.

    Where the tool is gone or has changed, nobody knows which arguments were secret, so all values are withheld.
    """
    payload: dict[str, Any] = opened.read(sealed, run)
    try:
        args = tools.get(payload["tool"]).proposal(payload["args"]).public_args()
    except InterlockError:
        args = dict.fromkeys(payload["args"], "•••• (withheld: the tool is no longer known)")
    return {**payload, "args": args}


def unreadable(sealed: Sealed, digest: str, run: Run) -> str | None:
    """Why a payload can't be shown exactly as it would be sent, or None. What nobody can see, nobody may approve."""
    try:
        payload: dict[str, Any] = opened.read(sealed, run)
        tools.get(payload["tool"]).proposal(payload["args"])
    except InterlockError as error:
        return f"what would be sent can't be shown: {error}"
    if sha256(canonical(payload)) != digest:
        return "what is stored is not what the digest names"
    return None


def between(shown: Sealed, current: Sealed, run: Run) -> tuple[Difference, ...]:
    """Compare what a screen showed with what would be sent now. Empty where they are equal or can't be read."""
    try:
        before, after = _flat(read_public(shown, run)), _flat(read_public(current, run))
        real_before, real_after = _flat(opened.read(shown, run)), _flat(opened.read(current, run))
    except InterlockError:
        return ()
    for name in before.keys() & after.keys():
        # Two secrets can bear one mask: that they differ is said, how they differ is not.
        if before[name] == after[name] and real_before[name] != real_after[name]:
            after[name] = f"{_text(after, name)}, changed (hidden)"
    return tuple(compare(before, after))


def compare(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Difference]:
    """Compare two flat mappings, key by key, in the order of the second with what is gone at the end."""
    names = [*after, *(name for name in before if name not in after)]
    return [
        Difference(name, _text(before, name), _text(after, name))
        for name in names
        if _text(before, name) != _text(after, name)
    ]


def _flat(payload: Mapping[str, Any]) -> dict[str, Any]:
    return {**payload["args"], **({"tool": payload["tool"]} if "tool" in payload else {})}


def _text(values: Mapping[str, Any], name: str) -> str | None:
    if name not in values:
        return None
    value = values[name]
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
