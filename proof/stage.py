"""The processes of one proof: a vendor of its own, workers, a sweeper. They die with the stage, whatever happens."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from local.process import kill_group, spawn, stop
from local.vendor import API_KEY, Vendor

ROOT = Path(__file__).resolve().parent.parent
SWEEPER = (sys.executable, "manage.py", "sweep", "--forever")


@dataclass
class Stage:
    """Starts processes on the services that the environment names. `settings` goes into each one's environment."""

    folder: Path
    settings: dict[str, str] = field(default_factory=dict)
    children: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def start(self, words: Sequence[str], **more: str) -> subprocess.Popen[bytes]:
        """Start a process of its own session. What it prints goes to a file of the stage; see `said`."""
        with (self.folder / "log").open("ab") as log:
            env = {**os.environ, **self.settings, **more}
            child = spawn(words, env=env, output=log.fileno(), cwd=ROOT)
        self.children.append(child)
        return child

    def start_vendor(self, port: int = 0, book: str = "book") -> Vendor:
        """Start the vendor stand-in with the `book` of that name, and point all later processes at it."""
        words = (sys.executable, "-m", "standin", "--port", str(port), "--book", str(self.folder / book))
        child = spawn(words, output=subprocess.PIPE, cwd=ROOT)
        self.children.append(child)
        assert child.stdout is not None
        line = child.stdout.readline().decode()
        if not line.startswith("listening "):
            raise RuntimeError(f"the vendor stand-in did not start: {line.strip()}")
        url = line.split()[1]
        self.settings |= {"STRIPE_API_KEY": API_KEY, "STRIPE_API_BASE": url, "SHOP_API_BASE": url}
        return Vendor(url)

    def stop(self, child: subprocess.Popen[bytes]) -> None:
        """Ask one process to end, and see that it does."""
        stop(child)
        self.children.remove(child)

    def said(self) -> str:
        """Return what the processes have printed, for the report of a failure."""
        log = self.folder / "log"
        return log.read_text(errors="replace")[-8_000:] if log.exists() else ""

    def close(self) -> None:
        """End every process that is left, with all that it has forked."""
        for child in self.children:
            kill_group(child.pid)
            child.wait()
            if child.stdout is not None:
                child.stdout.close()
        self.children.clear()


@contextlib.contextmanager
def stage(**settings: str) -> Iterator[Stage]:
    """A stage for the length of a block, on a folder that goes with it."""
    folder = Path(tempfile.mkdtemp(prefix="interlock-proof-"))
    found = Stage(folder, dict(settings))
    try:
        yield found
    finally:
        found.close()
        shutil.rmtree(folder, ignore_errors=True)
