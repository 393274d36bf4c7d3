"""Pages that are not ready: waited for where waiting helps, and given up at once with the reason where it does not."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from django.test import Client

from durable import health
from local import readiness

KEY = "INTERLOCK_SEAL_KEY is not the key under which this database has been sealed"


@contextmanager
def pages(*answers: tuple[int, str]) -> Iterator[str]:
    """A server that gives these answers in turn, the last one for ever."""
    left = list(answers)

    class Says(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, text = left.pop(0) if len(left) > 1 else left[0]
            self.send_response(status)
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    server = HTTPServer(("127.0.0.1", 0), Says)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/readyz"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def waited(url: str) -> None:
    readiness.wait_for_pages(url, alive=lambda: True, meanwhile=lambda: None)


def test_pages_that_lack_something_are_asked_until_they_are_ready_and_what_they_lack_is_said(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(readiness, "_PAUSE", 0.0)
    monkeypatch.setattr(readiness, "_SAY_AGAIN", 0.0)
    with pages((503, "The broker does not answer."), (200, "ready")) as url:
        waited(url)
    assert "still starting" in (said := capfd.readouterr().out) and "The broker does not answer." in said


def test_pages_with_the_wrong_key_are_given_up_at_once_with_the_reason() -> None:
    with pages((503, KEY)) as url, pytest.raises(RuntimeError, match=KEY):
        waited(url)


def test_pages_that_are_not_ready_say_so_to_whoever_asks_and_fill_no_log(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for name in ("database_trouble", "broker_trouble"):
        monkeypatch.setattr(health, name, str)
    monkeypatch.setattr(health, "seal_key_trouble", lambda: KEY)
    with caplog.at_level(logging.DEBUG):
        answer = Client().get("/readyz")
    assert (answer.status_code, answer.content.decode()) == (503, f"{KEY}\n")
    assert [record.getMessage() for record in caplog.records if record.name == "django.request"] == []
