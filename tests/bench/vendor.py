"""`python -m tests.bench.vendor`: a vendor that answers at once, so that what is measured is what stands around it."""

from __future__ import annotations

import asyncio
import json


class Answering(asyncio.Protocol):
    """One kept connection. A request's head and body may come in pieces."""

    transport: asyncio.Transport

    def __init__(self) -> None:
        self.read = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        """Answer every request that is complete."""
        self.read += data
        while (end := self.read.find(b"\r\n\r\n")) >= 0:
            fields = dict(line.lower().split(b": ", 1) for line in self.read[:end].split(b"\r\n")[1:])
            length = int(fields.get(b"content-length", b"0"))
            if len(self.read) < end + 4 + length:
                return
            body, self.read = self.read[end + 4 : end + 4 + length], self.read[end + 4 + length :]
            self._answer(fields[b"idempotency-key"].decode(), json.loads(body))

    def _answer(self, key: str, asked: dict[str, str]) -> None:
        receipt = json.dumps({"id": f"pay_{key}", "key": key, **asked}).encode()
        head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
        self.transport.write(head % len(receipt) + receipt)


async def main() -> None:
    """Listen on a free port of loopback, say which, and answer until the process is ended."""
    server = await asyncio.get_running_loop().create_server(Answering, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()[:2]
    print(f"{host}:{port}", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
