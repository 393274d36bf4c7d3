"""Every address of the product, from the URLconf itself, `durable/urls.py` and whatever it includes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.urls import URLPattern, URLResolver, get_resolver


def names() -> list[str]:
    """The name of each address, or its route where it has none, which no expectation of a test can match."""
    return list(_walk(get_resolver().url_patterns))


def _walk(patterns: list[Any]) -> Iterator[str]:
    for one in patterns:
        if isinstance(one, URLResolver):
            yield from _walk(one.url_patterns)
        elif isinstance(one, URLPattern):
            yield one.name or f"without a name: {one.pattern}"
