"""Static files are given out before Django is asked, each for what it is, and nothing else is."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from wsgiref.util import setup_testing_defaults

import pytest

from durable.static import Static

STYLES = "/static/css/base.css"
NO_FILES = [
    "/gates/",
    "/static/css/none.css",
    "/static/../manage.py",
    "/static/css/../../manage.py",
    "/static/",
    "/static/css",
]


def asked(path: str) -> tuple[str, dict[str, str], bytes]:
    """What a WSGI server gets: status, headers and body. What stands behind the files answers `django`."""
    told: list[Any] = []

    def behind(environ: dict[str, Any], start: Any) -> Iterable[bytes]:
        start("200 OK", [])
        return [b"django"]

    environ: dict[str, Any] = {"PATH_INFO": path}
    setup_testing_defaults(environ)
    answer = Static(behind)(environ, lambda status, headers: told.extend([status, dict(headers)]))
    body = b"".join(answer)
    if hasattr(answer, "close"):  # as every WSGI server does
        answer.close()
    return told[0], told[1], body


def test_a_file_is_given_out_as_what_it_is_and_can_be_taken_for_no_page() -> None:
    status, headers, body = asked(STYLES)
    assert status == "200 OK" and b"@font-face" in body
    assert headers["Content-Type"] == 'text/css; charset="utf-8"'
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Content-Security-Policy"] == "default-src 'none'"


@pytest.mark.parametrize("path", NO_FILES)
def test_whatever_is_no_file_is_asked_of_django(path: str) -> None:
    assert asked(path)[2] == b"django"
