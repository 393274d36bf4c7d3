"""A bell between processes: whoever begins something rings with the moment, and the one who waits hears it."""

from __future__ import annotations

import socket
from collections import defaultdict, deque

from tests.bench import kit

_PATIENCE = 60.0
_ringing: list[socket.socket] = []


class Bell:
    """Rings are datagrams on loopback. They carry the moment, so that hearing them late costs nothing."""

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
        self._socket.bind(("127.0.0.1", 0))
        self._socket.settimeout(_PATIENCE)
        self.port: int = self._socket.getsockname()[1]
        self._early: dict[str, deque[float]] = defaultdict(deque)

    def heard(self, word: str) -> float:
        """Wait for the next ring of that word, while others are kept for whoever waits for them; return its moment."""
        while not self._early[word]:
            said, moment = self._socket.recv(100).decode().split()
            self._early[said].append(float(moment))
        return self._early[word].popleft()

    def rate(self, word: str, count: int) -> float:
        """Return how many a second rang, over so many."""
        moments = sorted(self.heard(word) for _ in range(count))
        return (count - 1) / (moments[-1] - moments[0])


def ring(port: int, word: str) -> None:
    """Say that something begins now."""
    if not _ringing:
        _ringing.append(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
    _ringing[0].sendto(f"{word} {kit.now()!r}".encode(), ("127.0.0.1", port))
