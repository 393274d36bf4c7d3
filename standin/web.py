"""What a request and an answer are, and how a form body is read. No vendor's rule lives here."""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl


@dataclass(slots=True)
class Request:
    """One received request. `params` is the decoded body (POST) or query (GET); `key` the Idempotency-Key
    header.
    """

    method: str
    path: str
    params: dict[str, Any]
    headers: dict[str, str]
    key: str | None = None
    lag: float = 0.0

    def texts(self) -> list[str]:
        """Metadata and reference values: where a caller that can't set headers may ask for a fault."""
        metadata = self.params.get("metadata")
        values = list(metadata.values()) if isinstance(metadata, dict) else []
        values.append(self.params.get("reference"))
        return [value for value in values if isinstance(value, str)]


@dataclass(slots=True)
class Answer:
    """What goes back. `body` is the JSON document, or raw text where the answer is meant to be unreadable."""

    status: int
    body: Any
    headers: dict[str, str] = field(default_factory=dict)

    def encoded(self) -> bytes:
        """The body as bytes: JSON, or the raw text as it is."""
        return (self.body if isinstance(self.body, str) else json.dumps(self.body)).encode()


class Refused(Exception):
    """The service says no. `saved` is true where execution had begun, so that a key keeps this very answer."""

    def __init__(self, answer: Answer, *, saved: bool = False) -> None:
        super().__init__(str(answer.status))
        self.answer = answer
        self.saved = saved


def decode_form(text: str) -> dict[str, Any]:
    """Read a form body, `metadata[order]=12` becoming {"metadata": {"order": "12"}}, one level deep."""
    found: dict[str, Any] = {}
    for name, value in parse_qsl(text, keep_blank_values=True):
        outer, bracket, inner = name.partition("[")
        if bracket:
            table = found.setdefault(outer, {})
            if isinstance(table, dict):
                table[inner.rstrip("]")] = value
        else:
            found[name] = value
    return found


def fresh_id(prefix: str) -> str:
    """A new id in the vendor's manner: `re_` and 24 characters."""
    return f"{prefix}_{uuid.uuid4().hex[:24]}"
