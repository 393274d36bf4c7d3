"""A TCP proxy between a client and PostgreSQL that forwards a request and loses its answer."""

from __future__ import annotations

import contextlib
import socket
import threading
import time

#: Seconds that the server gets for what is asked before its connection is cut.
_TO_ACT = 0.3


class Proxy:
    """Forwards everything until `lose`: then the answer to the next request that holds `marker` never arrives."""

    def __init__(self, port: int) -> None:
        self._server = port
        self._door = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._door.getsockname()[1]
        self.lost = 0
        self._marker, self._left = b"", 0
        threading.Thread(target=self._accept, daemon=True).start()

    def lose(self, marker: bytes, nth: int) -> None:
        """Lose the answer to the nth request from now that holds `marker`, and the connection with it."""
        self._marker, self._left = marker, nth

    def close(self) -> None:
        self._door.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._door.accept()
                server = socket.create_connection(("127.0.0.1", self._server))
                threading.Thread(target=self._ask, args=(client, server), daemon=True).start()
                threading.Thread(target=self._answer, args=(server, client), daemon=True).start()

    def _ask(self, client: socket.socket, server: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := client.recv(65_536):
                if not self._loses(data):
                    server.sendall(data)
                    continue
                client.shutdown(socket.SHUT_RDWR)  # first, so that no byte of the answer gets through
                server.sendall(data)
                time.sleep(_TO_ACT)
                break
        _shut(client, server)

    def _answer(self, server: socket.socket, client: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := server.recv(65_536):
                client.sendall(data)
        _shut(client, server)

    def _loses(self, data: bytes) -> bool:
        if not self._left or self._marker not in data:
            return False
        self._left -= 1
        self.lost += not self._left
        return not self._left


def _shut(*ends: socket.socket) -> None:
    for end in ends:
        with contextlib.suppress(OSError):
            end.close()
