"""`manage.py up`: everything starts, says so once, heals, and stops."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from local.process import kill_group

pytestmark = [pytest.mark.process, pytest.mark.xdist_group("up")]
ROOT = Path(__file__).resolve().parents[2]
#: What the tests' own services put into the environment: `up` must bring its own.
OURS = ("DATABASE", "CELERY", "INTERLOCK", "DJANGO_SECRET", "STATIC", "PYTEST", "STRIPE", "SHOP")


class Up:
    """One `manage.py up` on a folder."""

    def __init__(self, data: Path, name: str) -> None:
        env = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
        self.log = data / f"{name}.log"
        with self.log.open("wb") as out:
            self.process = subprocess.Popen(
                [sys.executable, "manage.py", "up", "--no-demo", "--data", str(data), "--port", "8765"],
                cwd=ROOT,
                env=env,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def until(self, pattern: str, seconds: float = 60) -> re.Match[str]:
        """The first place in its output that matches."""
        end = time.monotonic() + seconds
        while not (found := re.search(pattern, self.log.read_text())):
            assert time.monotonic() < end, f"never printed {pattern!r}:\n{self.log.read_text()[-3000:]}"
            time.sleep(0.1)
        return found

    def address(self) -> str:
        return self.until(r"Interlock is up: (http://\S+)")[1]

    def children(self) -> list[psutil.Process]:
        return psutil.Process(self.process.pid).children(recursive=True)

    def child(self, words: str) -> psutil.Process:
        return next(child for child in self.children() if words in " ".join(child.cmdline()))

    def kill_everything(self) -> None:
        with contextlib.suppress(psutil.Error):
            for process in [psutil.Process(self.process.pid), *self.children()]:
                with contextlib.suppress(psutil.Error):
                    process.kill()
        kill_group(self.process.pid)
        self.process.wait()


def ready(address: str) -> bool:
    try:
        with urllib.request.urlopen(f"{address}/readyz", timeout=5) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False


@pytest.fixture
def data() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="interlock-up-"))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def test_up_starts_heals_and_stops_and_starts_again_after_a_kill_of_everything(data: Path) -> None:
    first = Up(data, "first")
    try:
        address = first.address()
        assert ready(address)

        second = Up(data, "second")
        assert second.process.wait(30) == 0
        assert f"already runs at {address}" in second.log.read_text()
    finally:
        first.kill_everything()

    again = Up(data, "again")
    try:
        address = again.address()
        assert ready(address)

        again.child("worker-1@").kill()
        again.until(r"worker-1 ended \(SIGKILL\): starting it again")
        again.child("postgres -D").kill()
        again.until(r"PostgreSQL ended \(SIGKILL\): starting it again")
        end = time.monotonic() + 20
        while not ready(address):
            assert time.monotonic() < end
            time.sleep(0.1)

        children = again.children()
        started = time.monotonic()
        os.killpg(again.process.pid, signal.SIGINT)
        assert again.process.wait(15) == 0
        assert time.monotonic() - started < 5
        _, alive = psutil.wait_procs(children, timeout=1)
        assert [process for process in alive if process.status() != psutil.STATUS_ZOMBIE] == []
        assert not (data / "runtime.json").exists()
    finally:
        again.kill_everything()
