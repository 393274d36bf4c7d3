"""The control API, under `/_control/`, answering on loopback only. Bodies and answers are JSON.

POST   /_control/faults    add a rule: {"kind": "drop", "service": "payments", "method": "POST",
                           "path": "/v1/refunds", "contains": "run-1", "times": 1, "after": 0,
                           "seconds": 2, ...}; see `standin.faults`
DELETE /_control/faults    take every rule away
POST   /_control/modes     {"keys": "honour|ignore", "mismatch": "refuse|ignore_body|new_object",
                           "key_life": 86400, "clock_skew": 0, "lookup_lag": 0}: the named ones change;
                           see `standin.modes`
GET    /_control/modes     the modes in force
GET    /_control/book      what really moved, in order: service, id, key, amount (text, in the currency's
                           major unit), amount_minor, currency, target, at, metadata
GET    /_control/requests  every request received, in order: n, service, method, path, key, at, peer
                           (the sender's port), fault, status (null while it is open, and where the
                           answer was cut)
POST   /_control/pass      {"seconds": 60}: the vendor's clock moves on, and what was to arrive within that
                           time has arrived when this answers
POST   /_control/forget    {"key": "..."}: prune one idempotency key now
POST   /_control/fail      {"refund": "re_..."}: this refund fails after all, and its money comes back: a
                           movement of its own, with the amount below 0
POST   /_control/reset     forget all: book, keys, faults, modes, requests
"""

from __future__ import annotations

import ipaddress
import threading
import time
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from standin.arrivals import Arrivals
from standin.book import Book, movement
from standin.faults import Faults, fault_from
from standin.keys import Keys
from standin.modes import Modes
from standin.web import Answer, Request

PREFIX = "/_control/"


class RequestLog:
    """The requests received, in memory."""

    def __init__(self) -> None:
        self._entries: list[dict[str, Any]] = []
        self._lock = threading.Lock()

    def received(self, service: str, request: Request, peer: int) -> dict[str, Any]:
        """Note a request down, before anything is done about it."""
        entry: dict[str, Any] = {"service": service, "method": request.method, "path": request.path}
        entry |= {"key": request.key, "at": time.time(), "peer": peer, "fault": None, "status": None}
        with self._lock:
            entry["n"] = len(self._entries) + 1
            self._entries.append(entry)
        return entry

    def all(self) -> list[dict[str, Any]]:
        """A copy of every entry, oldest first."""
        with self._lock:
            return [dict(one) for one in self._entries]

    def clear(self) -> None:
        """Forget every entry; the next one has number 1 again."""
        with self._lock:
            self._entries.clear()


class Control:
    """Answers the requests under `PREFIX`: sets faults and modes, moves the clock, tells what was moved."""

    def __init__(
        self, book: Book, keys: Keys, modes: Modes, faults: Faults, log: RequestLog, arrivals: Arrivals
    ) -> None:
        self._book, self._keys, self._modes, self._faults, self._log = book, keys, modes, faults, log
        self._arrivals = arrivals
        self._routes: dict[tuple[str, str], Callable[[dict[str, Any]], Any]] = {
            ("POST", "faults"): lambda body: self._faults.add(fault_from(body)),
            ("DELETE", "faults"): lambda body: self._faults.clear(),
            ("POST", "modes"): lambda body: self._modes.set(body),
            ("GET", "modes"): lambda body: asdict(self._modes),
            ("GET", "book"): lambda body: self._moved(),
            ("GET", "requests"): lambda body: self._log.all(),
            ("POST", "pass"): lambda body: self._pass(float(body["seconds"])),
            ("POST", "fail"): lambda body: self._fail(str(body["refund"])),
            ("POST", "forget"): lambda body: self._keys.forget(str(body["key"])),
            ("POST", "reset"): lambda body: self._reset(),
        }

    def handle(self, request: Request, peer: str) -> Answer:
        """Answer one request from the address `peer`: 403 unless that is loopback, 404 for an unknown path, 400 for bad
        fields.
        """
        if not ipaddress.ip_address(peer).is_loopback:
            return Answer(
                403, {"error": "loopback_only", "message": "The control API answers on loopback only."}
            )
        route = self._routes.get((request.method, request.path.removeprefix(PREFIX)))
        if route is None:
            return Answer(
                404, {"error": "not_found", "message": f"Nothing answers {request.method} {request.path}."}
            )
        try:
            found = route(request.params)
        except (ValueError, TypeError, KeyError) as bad:
            return Answer(400, {"error": "bad_request", "message": str(bad)})
        return Answer(200, {"ok": True} if found is None else found)

    def _moved(self) -> list[dict[str, Any]]:
        hidden = ("kind", "id", "made")
        moved = self._book.all("movement")
        return [
            {"id": one["made"]} | {name: one[name] for name in one if name not in hidden} for one in moved
        ]

    def _fail(self, name: str) -> None:
        """What a bank may say days later."""
        with self._book.lock:
            refund = self._book.get("refund", name)
            if refund is None or refund["status"] == "failed":
                raise ValueError(f"refund: there is no {name} that can fail")
            charge = self._book.get("charge", refund["charge"]) or {}
            moved = next(one for one in self._book.all("movement") if one["made"] == name)
            left = charge["amount_refunded"] - refund["amount"]
            back = {"amount": f"-{moved['amount']}", "amount_minor": -moved["amount_minor"]}
            self._book.write(
                {**refund, "status": "failed", "failure_reason": "declined"},
                {**charge, "amount_refunded": left, "refunded": False},
                movement(
                    self._book, moved["service"], {**moved, **back, "id": name, "at": self._modes.now()}
                ),
            )

    def _pass(self, seconds: float) -> None:
        self._arrivals.hasten(seconds, self._tick)

    def _tick(self, seconds: float) -> None:
        self._modes.clock_skew += seconds

    def _reset(self) -> None:
        self._faults.clear()
        self._faults.end_waits()
        self._keys.land()
        self._modes.reset()
        self._book.reset()
        self._log.clear()
