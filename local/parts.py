"""The processes of one machine: what each is called, and how it is started."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

# Celery warns every time that it runs as root, which the demo may; nothing that it executes came over the network.
_CELERY = (
    sys.executable,
    "-W",
    "ignore::UserWarning:celery.platforms",
    "-m",
    "celery",
    "--quiet",
    "-A",
    "durable.celery",
)
_PLAIN = ("--without-gossip", "--without-mingle", "--loglevel", "WARNING")


@dataclass(frozen=True)
class Part:
    """One process. `mark` is a piece of its command line by which a survivor is known."""

    name: str
    argv: tuple[str, ...]
    mark: str


def standin(port: int, book: Path) -> Part:
    """The vendors: payments, and a shop that knows no keys. Its book outlives it."""
    argv = (sys.executable, "-m", "standin", "--port", str(port), "--book", str(book))
    return Part("vendor", argv, "standin")


def web(host: str, port: int) -> Part:
    """The pages. Open connections are cut two seconds after a stop, else a stop would wait for them for ever.

    A thread that waits for a vendor's word answers nobody else: there are more of them than of connections.
    """
    where = (
        "--interface",
        "wsgi",
        "--host",
        host,
        "--port",
        str(port),
        "--no-ws",
        "--blocking-threads",
        "16",
    )
    ends = ("--workers", "1", "--workers-kill-timeout", "2", "--log-level", "error")
    return Part(
        "web", (sys.executable, "-m", "granian", *where, *ends, "durable.wsgi:application"), "durable.wsgi"
    )


def worker(number: int) -> Part:
    """Executes runs, two at a time."""
    argv = (*_CELERY, "worker", "-n", f"worker-{number}@%h", "-Q", "runs,retention,bulk", "-c", "2", *_PLAIN)
    return Part(f"worker-{number}", argv, "durable.celery")


def sweeper() -> Part:
    """Finds what no message announced. No Celery worker: it goes on while the broker is away."""
    return Part("sweeper", (sys.executable, "manage.py", "sweep", "--forever"), "manage.py")


def beat() -> Part:
    """The clock. A process of its own: one inside a worker dies unnoticed."""
    return Part("beat", (*_CELERY, "beat", "--pidfile=", "--loglevel", "WARNING"), "durable.celery")


def inside(what: str) -> Part:
    """A function of the demo or the check, inside a configured Django."""
    return Part(what, (sys.executable, "-m", "local.inside", what), "local.inside")
