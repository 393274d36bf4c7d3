"""What is kept outside of the database: told in order, told again after a failure, and never in anybody's way."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from django.core import mail

from durable.models import Anchor, Root
from durable.models.fields import Clock
from durable.roots import builder, keeping
from durable.roots.anchors import Outgoing
from durable.roots.statement import from_line
from tests.engine import rooted
from tests.engine.rooted import begun, file, tell

__all__ = ["file"]

pytestmark = pytest.mark.django_db(transaction=True)


class Objects(ThreadingHTTPServer):
    """An object store: it takes a PUT, keeps the condition that nothing is there, and can be told to fail."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.kept: dict[str, bytes] = {}
        self.asked: list[dict[str, str]] = []
        self.fails = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/bucket"


class _Handler(BaseHTTPRequestHandler):
    server: Objects

    def do_PUT(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.asked.append(dict(self.headers))
        if self.server.fails:
            self.server.fails -= 1
            return self._answer(503)
        if self.headers["If-None-Match"] == "*" and self.path in self.server.kept:
            return self._answer(412)
        self.server.kept[self.path] = body
        return self._answer(201)

    def _answer(self, status: int) -> None:
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def store(settings: Any) -> Iterator[Objects]:
    with Objects() as server:
        Thread(target=server.serve_forever, daemon=True).start()
        settings.INTERLOCK_ANCHORS = ["durable.roots.anchors.Store"]
        settings.INTERLOCK_ANCHOR_URL = server.url
        settings.INTERLOCK_ANCHOR_TOKEN = "a secret word"
        yield server
        server.shutdown()


def rooted_events(times: int = 1, size: int = 2) -> None:
    tell(begun(), times)
    builder.build(size=size)


def in_database() -> list[tuple[str, bytes]]:
    return [(one.statement, bytes(one.signature)) for one in Root.objects.order_by("number")]


def row(name: str) -> Anchor:
    return Anchor.objects.get(name=name)


def due(name: str) -> None:
    Anchor.objects.filter(name=name).update(due_at=Clock())


def test_the_file_has_every_root_once_and_in_order(file: Path) -> None:
    rooted_events(5)
    assert keeping.keep() == 0
    rooted_events(1)
    assert [keeping.keep(), keeping.keep()] == [0, 0]
    assert [from_line(line) for line in file.read_text().splitlines()] == in_database()
    assert (file.stat().st_mode & 0o777, row("file").kept) == (0o600, 4)


def test_a_line_that_a_kill_has_torn_is_ended_and_what_follows_is_whole(file: Path) -> None:
    file.write_text('{"statement": "interlock-root-1\\nnum')
    rooted_events(3)
    keeping.keep()
    torn, *whole = file.read_text().splitlines()
    assert torn.endswith("num")
    assert [from_line(line) for line in whole] == in_database()


def test_a_store_gets_an_object_for_each_root_under_its_number_and_hash(store: Objects) -> None:
    rooted_events(3)
    assert keeping.keep() == 0
    expected = {}
    for one in Root.objects.all():
        name = (
            f"/bucket/root-{one.number:012d}-{hashlib.sha256(one.statement.encode()).hexdigest()[:16]}.json"
        )
        expected[name] = one.statement
    assert {name: json.loads(body)["statement"] for name, body in store.kept.items()} == expected
    assert {(a["If-None-Match"], a["Authorization"]) for a in store.asked} == {("*", "Bearer a secret word")}


def test_what_a_store_has_already_counts_as_kept(store: Objects) -> None:
    rooted_events(3)
    keeping.keep()
    Anchor.objects.update(kept=0, due_at=Clock())
    before = dict(store.kept)
    assert keeping.keep() == 0
    assert (store.kept, row("store").kept, len(store.asked)) == (before, 2, 4)


def test_a_store_that_fails_is_tried_again_later_and_its_trouble_is_on_record(
    store: Objects, caplog: pytest.LogCaptureFixture
) -> None:
    rooted_events(3)
    store.fails = 1
    assert keeping.keep() == 1
    failed = row("store")
    assert (failed.kept, failed.trouble) == (0, "the store answered 503 to root 1")
    assert failed.failing_since is not None and failed.due_at > failed.failing_since
    assert "the store answered 503" in caplog.text and "secret" not in caplog.text
    assert (keeping.keep(), len(store.asked)) == (0, 1)  # it rests for a while
    due("store")
    assert keeping.keep() == 0
    assert (row("store").kept, row("store").trouble, row("store").failing_since) == (2, "", None)


def test_a_store_that_is_away_is_no_error_of_ours(store: Objects, settings: Any) -> None:
    settings.INTERLOCK_ANCHOR_URL = "http://127.0.0.1:9/bucket"
    rooted_events(1)
    assert keeping.keep() == 1
    assert row("store").trouble.startswith("the store can't be reached (")


def test_pauses_after_failures_grow_to_an_hour_and_no_longer(store: Objects) -> None:
    rooted_events(1)
    pauses = []
    for tries in (0, 3, 30):
        store.fails = 1
        keeping.keep()
        Anchor.objects.update(tries=tries, due_at=Clock())
        store.fails = 1
        before = row("store").due_at
        keeping.keep()
        pauses.append(round((row("store").due_at - before).total_seconds(), -1))
        due("store")
    assert pauses == [20, 120, 3600]


def test_one_anchor_that_fails_keeps_none_of_the_others_from_being_told(settings: Any, file: Path) -> None:
    settings.INTERLOCK_ANCHORS = [f"{__name__}.Broken", "durable.roots.anchors.File"]
    rooted_events(1)
    assert keeping.keep() == 1
    assert (row("broken").trouble, len(file.read_text().splitlines())) == ("it raised RuntimeError", 1)


class Broken:
    name, pause = "broken", timedelta(0)

    def keep(self, statements: list[Outgoing]) -> None:
        raise RuntimeError("a secret in a message")


def test_a_letter_has_the_newest_root_and_all_new_lines_and_comes_once_in_a_while(settings: Any) -> None:
    settings.INTERLOCK_ANCHORS = ["durable.roots.anchors.Mail"]
    settings.INTERLOCK_ANCHOR_MAIL = ["auditor@example.org"]
    rooted_events(3)
    keeping.keep()
    rooted_events(1)
    keeping.keep()
    (letter,) = mail.outbox
    assert letter.to == ["auditor@example.org"] and letter.subject.startswith("Interlock root 2: ")
    assert in_database()[1][0] in letter.body
    (_, content, _) = letter.attachments[0]
    assert [from_line(line) for line in bytes(content).decode().splitlines()] == in_database()[:2]
    due("mail")
    keeping.keep()
    assert len(mail.outbox) == 2 and mail.outbox[1].subject.startswith("Interlock root 3: ")


def test_a_letter_that_nobody_takes_is_tried_again(settings: Any) -> None:
    settings.INTERLOCK_ANCHORS = ["durable.roots.anchors.Mail"]
    rooted_events(1)
    assert (keeping.keep(), row("mail").trouble) == (1, "INTERLOCK_ANCHOR_MAIL names nobody to write to")
    settings.INTERLOCK_ANCHOR_MAIL = ["auditor@example.org"]
    settings.EMAIL_BACKEND, settings.EMAIL_HOST, settings.EMAIL_PORT = (
        "django.core.mail.backends.smtp.EmailBackend", "127.0.0.1", 9,
    )  # fmt: skip
    due("mail")
    assert keeping.keep() == 1
    assert row("mail").trouble == "the letter could not be sent (ConnectionRefusedError)"


def test_many_roots_are_told_in_batches(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeping, "BATCH", 2)
    rooted_events(5, size=1)
    assert keeping.keep() == 0
    assert (len(file.read_text().splitlines()), row("file").kept) == (5, 5)


def test_the_command_says_how_far_each_anchor_is_and_ends_with_1_where_one_fails(store: Objects) -> None:
    tell(begun(), 2)
    assert rooted.said("roots") == (0, "roots made: 1\nstore keeps them up to root 1\n")
    tell(begun(), 1)
    store.fails = 1
    assert rooted.said("roots") == (
        1,
        "roots made: 1\nstore keeps them up to root 1; it fails: the store answered 503 to root 2\n",
    )


def test_a_refusal_to_keep_says_why_in_a_sentence_of_its_own(settings: Any, tmp_path: Path) -> None:
    settings.INTERLOCK_ANCHOR_FILE = str(tmp_path / "nowhere" / "roots.jsonl")
    rooted_events(1)
    assert keeping.keep() == 1
    assert row("file").trouble == "the file of roots can't be written: No such file or directory"
