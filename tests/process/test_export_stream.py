"""A file is downloaded from the real server: a block at a time, and closed with its reader."""

from __future__ import annotations

import hashlib
import http.client
import os
import re
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client
from django.urls import reverse

from approvals.exports import files
from approvals.models import Export
from durable.clock import db_now
from durable.models import LedgerEvent
from local.process import free_port
from proof.stage import Stage
from tests.process import house

pytestmark = pytest.mark.process

SIZE = 96 * 1024 * 1024
#: As the product is served.
SERVED = ("--interface", "wsgi", "--blocking-threads", "4", "durable.wsgi:application")


@pytest.fixture
def export(on: Stage, settings: Any, tmp_path: Path) -> Export:
    """A large file that was made for an auditor."""
    settings.INTERLOCK_EXPORTS = on.settings["INTERLOCK_EXPORTS"] = str(tmp_path)
    rita = User.objects.create_user("rita")
    rita.groups.add(Group.objects.get(name="auditor"))
    block = os.urandom(1024 * 1024)
    with (tmp_path / "1-1.csv").open("wb") as file:
        for number in range(SIZE // len(block)):
            file.write(number.to_bytes(4, "big") + block[4:])
    return Export.objects.create(
        person=rita, of="ledger", query="", form="csv", zone="UTC", state="made", file="1-1.csv", bytes=SIZE,
        manifest={"file": "ledger.csv", "rows": 1}, expires_at=db_now() + timedelta(hours=1),
    )  # fmt: skip


class Server:
    """The product's own server, asked by plain HTTP with the auditor's cookies."""

    def __init__(self, on: Stage, person: User) -> None:
        self.port = free_port()
        words = (sys.executable, "-m", "granian", "--port", str(self.port))
        self.process = on.start((*words, *SERVED))
        client = Client()
        client.force_login(person)
        page = client.get(reverse("exports"))
        found = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page.content.decode())
        assert found is not None
        self.token = found[1]
        self.cookies = "; ".join(f"{name}={one.value}" for name, one in client.cookies.items())
        house.until(self.answers, "the server to answer", on.said)

    def answers(self) -> bool:
        try:
            with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)) as wire:
                wire.request("GET", "/healthz")
                return wire.getresponse().status == 200
        except OSError:
            return False

    @contextmanager
    def download(self, export: Export) -> Iterator[http.client.HTTPResponse]:
        """The answer, to be read; whoever leaves the block goes away, however much was read."""
        headers = {"Cookie": self.cookies, "Content-Type": "application/x-www-form-urlencoded"}
        headers["Origin"] = f"http://127.0.0.1:{self.port}"
        address, body = reverse("export-downloads", args=[export.pk]), f"csrfmiddlewaretoken={self.token}"
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)) as wire:
            wire.request("POST", address, body, headers)
            with wire.getresponse() as answer:
                yield answer

    def processes(self) -> list[int]:
        """The server and what it has forked."""
        group = os.getpgid(self.process.pid)
        found = []
        for name in filter(str.isdecimal, os.listdir("/proc")):
            try:
                if os.getpgid(int(name)) == group:
                    found.append(int(name))
            except ProcessLookupError:
                continue
        return found

    def most(self) -> int:
        """The most memory that it has ever had, in bytes."""
        texts = [Path(f"/proc/{pid}/status").read_text() for pid in self.processes()]
        return (
            sum(int(kilobytes) for text in texts for kilobytes in re.findall(r"VmHWM:\s+(\d+) kB", text))
            * 1024
        )

    def holds(self, path: Path) -> bool:
        """Whether any of its processes has the file open."""
        links = [link for pid in self.processes() for link in Path(f"/proc/{pid}/fd").iterdir()]
        return any(os.path.realpath(link) == str(path) for link in links if link.is_symlink())


def test_a_file_streams_in_little_memory_and_is_closed_with_its_reader(
    on: Stage, export: Export, tmp_path: Path
) -> None:
    path = (tmp_path / export.file).resolve()
    right = hashlib.sha256(path.read_bytes()).hexdigest()
    server = Server(on, export.person)
    before = server.most()
    digest, read = hashlib.sha256(), 0
    with server.download(export) as answer:
        assert answer.status == 200, answer.read()
        assert answer.headers["Content-Length"] == str(SIZE)
        assert answer.headers["Content-Disposition"] == 'attachment; filename="ledger.csv"'
        assert "sandbox" in answer.headers["Content-Security-Policy"]
        while block := answer.read(files.BLOCK):
            digest.update(block)
            read += len(block)
    assert (read, digest.hexdigest()) == (SIZE, right)
    assert server.most() - before < SIZE / 2

    # One reads a little and goes away: the file is let go of, and the next reader is served.
    with server.download(export) as answer:
        assert len(answer.read(files.BLOCK)) == files.BLOCK and server.holds(path)
    house.until(lambda: not server.holds(path), "the file to be closed", on.said)
    with server.download(export) as answer:
        assert hashlib.sha256(answer.read()).hexdigest() == right
    assert LedgerEvent.objects.filter(run_ref=f"export:{export.pk}", kind="export downloaded").count() == 3
