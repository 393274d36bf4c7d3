"""The HTTP side: one thread a connection, HTTP/1.1 kept alive, faults carried out on the wire."""

from __future__ import annotations

import json
import socket
import struct
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import unquote, urlsplit

from standin.arrivals import Arrivals
from standin.book import Book
from standin.control import PREFIX, Control, RequestLog
from standin.faults import Faults, Plan
from standin.keys import Keys
from standin.modes import Modes
from standin.orders import Orders
from standin.payments import Payments
from standin.spoilt import spoil
from standin.stock import Stock
from standin.web import Answer, Refused, Request, decode_form, fresh_id

LONGEST_BODY = 1_000_000
CLOSE_WITH_RESET = struct.pack("ii", 1, 0)


class Service(Protocol):
    """One of the vendor's services: it answers paths that begin with `prefix`; rules and book call it `name`."""

    prefix: str
    name: str

    def handle(self, request: Request, plan: Plan) -> Answer:
        """Answer one request, and as `plan` wants it. Raises Refused where the answer is no."""


class Vendor(ThreadingHTTPServer):
    """The stand-in on one port, with the book at `path`."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], path: Path) -> None:
        self.book = Book(path)
        self.modes = Modes()
        self.keys = Keys(self.book, self.modes)
        self.faults = Faults()
        self.log = RequestLog()
        self.arrivals = Arrivals()
        self.control = Control(self.book, self.keys, self.modes, self.faults, self.log, self.arrivals)
        self.services: tuple[Service, ...] = (
            Payments(self.book, self.keys, self.modes),
            Stock(self.book, self.modes),
            Orders(self.book),
        )
        super().__init__(address, Handler)

    def service(self, path: str) -> Service | None:
        """The service that answers a path; None where none does."""
        return next((one for one in self.services if path.startswith(one.prefix)), None)

    def act(self, service: Service, request: Request, plan: Plan) -> Answer:
        """What the service answers, its refusals included."""
        try:
            return service.handle(request, plan)
        except Refused as no:
            return no.answer

    def act_later(self, service: Service, request: Request, plan: Plan, seconds: float) -> None:
        """Let `request` arrive `seconds` from now, its sender long gone."""
        self.arrivals.expect(seconds, lambda: self.act(service, request, Plan()), plan.over)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A caller that has gone is no error of ours."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)

    def stop(self) -> None:
        """Stop serving; may be called from a signal handler."""
        self.faults.end_waits()
        threading.Thread(target=self.shutdown, daemon=True).start()


class Handler(BaseHTTPRequestHandler):
    """Reads requests, has them answered, and writes the answers, spoilt or cut where a fault says so."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Vendor

    def do_GET(self) -> None:
        """Answer a GET."""
        self._serve()

    def do_POST(self) -> None:
        """Answer a POST."""
        self._serve()

    def do_DELETE(self) -> None:
        """Answer a DELETE."""
        self._serve()

    def _serve(self) -> None:
        request = self._read()
        if request is None:
            self._send(Answer(400, {"error": "bad_request", "message": "The body can't be read."}))
            self.close_connection = True
        elif request.path.startswith(PREFIX):
            self._send(self.server.control.handle(request, str(self.client_address[0])))
        else:
            self._answer(request)

    def _read(self) -> Request | None:
        """The request, or None where its body can't be read. Header names are lower-cased."""
        url = urlsplit(self.path)
        headers = {name.lower(): value for name, value in self.headers.items()}
        params: Any = decode_form(url.query)
        try:
            length = int(headers.get("content-length", "0"))
            text = self.rfile.read(length).decode() if 0 <= length <= LONGEST_BODY else None
            if text is None:
                return None
            if text and "json" in headers.get("content-type", ""):
                params = json.loads(text)
            elif text:
                params = decode_form(text)
        except ValueError:
            return None
        if not isinstance(params, dict):
            return None
        return Request(self.command, unquote(url.path), params, headers, headers.get("idempotency-key"))

    def _answer(self, request: Request) -> None:
        service = self.server.service(request.path)
        if service is None:
            self._send(Answer(404, {"error": "not_found", "message": f"Nothing answers {request.path}."}))
            return
        entry = self.server.log.received(service.name, request, int(self.client_address[1]))
        plan = self.server.faults.plan(service.name, request)
        entry["fault"] = plan.fault.kind if plan.fault else None
        answer = plan.early(service.name) or self._carried_out(service, request, plan)
        if answer is None:
            self._cut(plan.kind)
            return
        entry["status"] = answer.status
        if plan.fault and plan.kind == "trickle":
            self._send(answer, spread=plan.fault.seconds)
        else:
            self._send(answer)

    def _carried_out(self, service: Service, request: Request, plan: Plan) -> Answer | None:
        """What the service answered, spoilt where that was asked; None where the caller gets nothing."""
        fault = plan.fault
        if fault is None:
            return self.server.act(service, request, plan)
        if fault.kind == "late":
            self.server.act_later(service, request, plan, fault.seconds)
            return None
        if fault.kind == "forget_key" and request.key is not None:
            self.server.keys.forget(request.key)
        request.lag = fault.seconds if fault.kind == "lag" else 0.0
        acts = fault.acts or fault.kind != "hang"
        answer = self.server.act(service, request, plan) if acts else None
        if fault.kind == "hang":
            plan.over.wait(fault.seconds)
        if fault.kind in ("hang", "drop", "reset"):
            return None
        return spoil(fault.form, answer) if answer and fault.kind == "garbage" else answer

    def _cut(self, kind: str) -> None:
        self.close_connection = True
        if kind == "reset":
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, CLOSE_WITH_RESET)
            self.connection.close()

    def _send(self, answer: Answer, spread: float = 0.0) -> None:
        body = answer.encoded()
        self.send_response(answer.status)
        headers = {"Content-Type": "application/json", "Request-Id": fresh_id("req"), **answer.headers}
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if not spread:
            self.wfile.write(body)
            return
        for at in range(len(body)):
            self.wfile.write(body[at : at + 1])
            time.sleep(spread / len(body))

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: the request log is asked for over the control API."""
