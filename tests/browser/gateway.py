"""A door to the live server that can be shut and opened again: to the browser, a server that is really gone."""

from __future__ import annotations

import socket
from contextlib import suppress
from threading import Thread


class Gateway:
    """Passes connections on to a server, from a port of its own which stays the same."""

    def __init__(self, host: str, port: int) -> None:
        self._to = (host, port)
        self._open: list[socket.socket] = []
        self.port = 0
        self.opens()

    def opens(self) -> None:
        """Listen, and pass on whoever comes."""
        self._door = socket.create_server(("127.0.0.1", self.port), reuse_port=False)
        self.port = self._door.getsockname()[1]
        Thread(target=self._listen, args=(self._door,), daemon=True).start()

    def shuts(self) -> None:
        """Refuse new connections, and cut those that there are."""
        with suppress(OSError):
            self._door.shutdown(socket.SHUT_RDWR)
        self._door.close()
        for one in self._open:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()
        self._open.clear()

    def _listen(self, door: socket.socket) -> None:
        with suppress(OSError):
            while True:
                here, _ = door.accept()
                there = socket.create_connection(self._to)
                self._open += [here, there]
                for one, other in ((here, there), (there, here)):
                    Thread(target=_pass_on, args=(one, other), daemon=True).start()


def _pass_on(one: socket.socket, other: socket.socket) -> None:
    with suppress(OSError):
        while data := one.recv(65_536):
            other.sendall(data)
        other.shutdown(socket.SHUT_WR)
