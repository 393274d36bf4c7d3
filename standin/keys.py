"""Idempotency keys as Stripe's API v1 treats them (docs.stripe.com/api/idempotent_requests,
/error-low-level).

A key has at most 255 characters and may be pruned once it is 24 hours old; after that the same key is a new
request. Status and body are saved once execution began, errors of execution and 500s included, and come back
with `Idempotent-Replayed: true`. What fails validation, or meets the same key in flight (409), is not saved.
Other parameters or another path under a saved key are an `idempotency_error`, 400.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable
from typing import Any

from standin.book import Book, Record
from standin.modes import Modes
from standin.web import Answer, Refused, Request

Acted = tuple[Answer, list[Record]]
LONGEST = 255


def error(status: int, kind: str, message: str, code: str | None = None, param: str | None = None) -> Answer:
    """An error in Stripe's JSON form."""
    body: dict[str, Any] = {"type": kind, "message": message}
    body.update({name: value for name, value in (("code", code), ("param", param)) if value is not None})
    return Answer(status, {"error": body})


def fingerprint(request: Request) -> str:
    """What tells requests under one key apart: SHA-256 over method, path and parameters, in hexadecimal digits."""
    canonical = json.dumps([request.method, request.path, request.params], sort_keys=True)
    return hashlib.sha256(canonical.encode()).hexdigest()


class Keys:
    """The saved answers, in the book, and the keys in flight, in memory."""

    def __init__(self, book: Book, modes: Modes) -> None:
        self._book = book
        self._modes = modes
        self._flying: set[str] = set()
        self._lock = threading.Lock()

    def run(
        self, request: Request, check: Callable[[], None], act: Callable[[], Acted], *, save: bool = True
    ) -> Answer:
        """Answer `request`: from the record, or by `check` (not saved) and then `act`, whose records and
        answer are written as one line under the book's lock. With `save` false the key keeps nothing.
        """
        if request.key is None or self._modes.keys == "ignore":
            check()
            return self._execute(request, act, save=False)
        if len(request.key) > LONGEST:
            message = f"Keys for idempotent requests can be at most {LONGEST} characters long."
            return error(400, "invalid_request_error", message)
        with self._lock:
            flying = self._flying
            if request.key in flying:
                message = "There is currently another in-progress request using this Idempotent Key."
                return error(409, "idempotency_error", message, code="idempotency_key_in_use")
            flying.add(request.key)
        try:
            replay = self._saved(request)
            if replay is not None:
                return replay
            check()
            return self._execute(request, act, save=save)
        finally:
            with self._lock:
                flying.discard(request.key)

    def _saved(self, request: Request) -> Answer | None:
        found = self._book.get("key", str(request.key))
        if found is None or self._modes.now() - found["at"] >= self._modes.key_life:
            return None
        if found["fingerprint"] != fingerprint(request) and self._modes.mismatch != "ignore_body":
            if self._modes.mismatch == "new_object":
                return None
            message = (
                "Keys for idempotent requests can only be used with the same parameters they were "
                "first used with. "
                f"Try using a key other than '{request.key}' if you meant to execute a different request."
            )
            return error(400, "idempotency_error", message)
        return Answer(found["status"], found["body"], {"Idempotent-Replayed": "true"})

    def _execute(self, request: Request, act: Callable[[], Acted], *, save: bool) -> Answer:
        with self._book.lock:
            try:
                answer, records = act()
            except Refused as no:
                if not no.saved:
                    raise
                answer, records = no.answer, []
            if save:
                records = [*records, self._record(request, answer)]
            if records:
                self._book.write(*records)
        return answer

    def _record(self, request: Request, answer: Answer) -> Record:
        return {
            "kind": "key",
            "id": request.key,
            "fingerprint": fingerprint(request),
            "status": answer.status,
            "body": answer.body,
            "at": self._modes.now(),
        }

    def land(self) -> None:
        """Forget which keys are in flight."""
        with self._lock:
            self._flying = set()

    def forget(self, key: str) -> None:
        """Prune one key now."""
        self._book.write({"kind": "key", "id": key, "gone": True})
