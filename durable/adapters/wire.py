"""One HTTP request, sent at most once, inside one deadline, over connections that are kept.

urllib3 does the work, with its retries and redirects off. Three things are ours:

- where a failure happened: before the connection stood (`NotSent`) or after, when the vendor may have acted
  (`InDoubt`);
- the deadline: urllib3's timeout counts each read, so a vendor that sends a byte a second would never time
  out. Here every read has what is left of the whole. A name that is slow to resolve can pass the deadline,
  but then nothing is sent;
- forked workers: a child never uses its parent's connections.

Proxies of the environment are used, except for loopback. Nothing is read from .netrc.
"""

from __future__ import annotations

import http.client
import io
import os
import socket
import threading
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any, cast
from urllib.parse import urlsplit

import urllib3
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

from durable import clock
from durable.errors import InDoubt, NotSent, VendorRefused

CONNECTIONS_KEPT = 8
LOOPBACK = ("localhost", "127.0.0.1", "::1")

_local = threading.local()


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back. `headers` finds its names in any case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Give everything sent in this block, by this thread, `seconds` altogether: no more than a block around it has."""
    before = getattr(_local, "until", None)
    until = clock.elapsed() + seconds
    _local.until = until if before is None else min(before, until)
    try:
        yield
    finally:
        if before is None:
            del _local.until
        else:
            _local.until = before


def _left() -> float:
    """Seconds until the deadline of this thread's block; there must be one."""
    return float(_local.until) - clock.elapsed()


class _Reader(io.RawIOBase):
    """Reads a socket, each time with what is left of the deadline."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._raw = sock.makefile("rb", buffering=0)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        left = _left()
        if left <= 0:
            raise TimeoutError("the call's time is over")
        self._sock.settimeout(left)
        return self._raw.readinto(buffer)

    def close(self) -> None:
        self._raw.close()
        super().close()


class _Source:
    """Stands for the socket where http.client asks for its file."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock

    def makefile(self, mode: str) -> io.BufferedReader:
        return io.BufferedReader(_Reader(self._sock))


class _Response(http.client.HTTPResponse):
    def __init__(self, sock: socket.socket, *args: Any, **kwargs: Any) -> None:
        # It is asked for its file alone.
        super().__init__(cast(socket.socket, _Source(sock)), *args, **kwargs)


class _Plain(HTTPConnection):
    """Says `NotSent` for whatever goes wrong before a connection stands."""

    response_class = _Response

    def connect(self) -> None:
        try:
            super().connect()
        except Exception as error:
            raise NotSent(f"no connection to {self.host}: {type(error).__name__}") from error
        if _left() <= 0:
            self.close()
            raise NotSent(f"connecting to {self.host} took all of the call's time")


class _Tls(_Plain, HTTPSConnection):
    """The same over TLS: what `_Plain` calls its parent is then urllib3's HTTPSConnection."""


class _PlainPool(HTTPConnectionPool):
    ConnectionCls = _Plain


class _TlsPool(HTTPSConnectionPool):
    ConnectionCls = _Tls


@cache
def _manager(proxy: str | None) -> urllib3.PoolManager:
    """This process's connections, by proxy; safe among threads."""
    kept: dict[str, Any] = {"num_pools": 16, "maxsize": CONNECTIONS_KEPT, "retries": False}
    manager = urllib3.ProxyManager(proxy, **kept) if proxy else urllib3.PoolManager(**kept)
    manager.pool_classes_by_scheme = {"http": _PlainPool, "https": _TlsPool}
    return manager


# Clearing drops the child's copies of the descriptors; the parent's connections stay open.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_manager.cache_clear)


def _proxy(url: str) -> str | None:
    parts = urlsplit(url)
    host = parts.hostname or ""
    if host in LOOPBACK or urllib.request.proxy_bypass(host):
        return None
    return urllib.request.getproxies().get(parts.scheme)


def _sendable(headers: Mapping[str, str]) -> None:
    for name, value in headers.items():
        if not value.isascii() or not value.isprintable():
            raise VendorRefused("unsendable", f"header {name}: must be printable ASCII; nothing was sent")


def send(method: str, url: str, headers: Mapping[str, str], body: bytes | str | None = None) -> Reply:
    """Send one request inside a `within` block and read the whole answer, whatever its status."""
    _sendable(headers)
    left = _left()
    if left <= 0:
        raise NotSent("the call's time was over before anything was sent")
    try:
        reply = _manager(_proxy(url)).urlopen(
            method,
            url,
            body=body,
            headers=dict(headers),
            timeout=urllib3.Timeout(total=left),
            redirect=False,
            retries=False,
        )
    except NotSent:
        raise
    except urllib3.exceptions.LocationValueError as error:
        raise NotSent(f"{urlsplit(url).netloc or 'no host'}: not an address that can be reached") from error
    except Exception as error:
        raise InDoubt(f"no readable answer from {urlsplit(url).netloc}: {type(error).__name__}") from error
    return Reply(reply.status, reply.headers, reply.data)


def seconds_in(header: str | None) -> float | None:
    """`Retry-After` in seconds; None where it is missing or a date."""
    try:
        return max(0.0, float(header)) if header else None
    except ValueError:
        return None
