"""`python -m proof.pages POINT[:HIT]...`: for each point a real web server of the product that dies when it passes it.

All are forked from one process that has loaded everything. Prints one line of JSON with their addresses, in order, and,
once all of them have died, another one with how each ended.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Sequence
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from local.process import die_with_parent
from proof.dying import arm, lead_a_group


class _Silent(WSGIRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: what is printed is read by a test."""


def command(points: Sequence[str]) -> tuple[str, ...]:
    """Return the words that start such servers."""
    return (sys.executable, "-m", "proof.pages", *points)


def main(points: Sequence[str]) -> int:
    """Serve, and tell how each server ended."""
    from durable.wsgi import application

    servers = [make_server("127.0.0.1", 0, application, handler_class=_Silent) for _ in points]
    print(json.dumps([f"http://127.0.0.1:{server.server_port}/" for server in servers]), flush=True)
    children = [_fork(point, server) for point, server in zip(points, servers, strict=True)]
    codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    print(json.dumps(codes), flush=True)
    return 0


def _fork(point: str, server: WSGIServer) -> int:
    tie = die_with_parent(signal.SIGKILL)
    pid = os.fork()
    if pid:
        server.socket.close()
        return pid
    try:
        lead_a_group()
        if tie is not None:
            tie()
        arm(point)
        server.serve_forever()
    finally:
        os._exit(1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
