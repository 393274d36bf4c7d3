"""Every address of the product, from the URLconf itself, `durable/urls.py` and whatever it includes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django.urls import URLPattern, URLResolver, get_resolver, reverse


def names() -> list[str]:
    """The name of each address, or its route where it has none, which no expectation of a test can match."""
    return [one.name or f"without a name: {one.pattern}" for one in _walk(get_resolver().url_patterns)]


def every(values: Mapping[str, Sequence[Any]]) -> Iterator[tuple[str, str]]:
    """Each address with each of the values that its argument may have. Raises KeyError for an argument without any."""
    for one in _walk(get_resolver().url_patterns):
        arguments = list(one.pattern.converters)
        for found in itertools.product(*(values[argument] for argument in arguments)):
            yield str(one.name), reverse(str(one.name), kwargs=dict(zip(arguments, found, strict=True)))


def _walk(patterns: list[Any]) -> Iterator[URLPattern]:
    for one in patterns:
        if isinstance(one, URLResolver):
            yield from _walk(one.url_patterns)
        elif isinstance(one, URLPattern):
            yield one
