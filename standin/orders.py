"""The orders service: orders to read. POST /orders seeds one, GET /orders/ID shows it."""

from __future__ import annotations

import time

from standin.book import Book
from standin.faults import Plan
from standin.stock import no, shown
from standin.web import Answer, Request, fresh_id

FIELDS = ("customer", "email", "charge", "amount", "currency", "items", "status")


class Orders:
    """Orders in the book. A new one needs all of `FIELDS`."""

    prefix = "/orders"
    name = "orders"

    def __init__(self, book: Book) -> None:
        self._book = book

    def handle(self, request: Request, plan: Plan) -> Answer:
        """Show an order, or seed one. Raises Refused: 404 for what is not there, 400 for a missing field."""
        name = request.path.removeprefix(self.prefix).strip("/")
        if request.method == "GET" and name:
            found = self._book.get("order", name)
            if found is None:
                raise no(404, "not_found", f"There is no order {name}.")
            return Answer(200, shown(found))
        if request.method != "POST" or name:
            raise no(404, "not_found", f"Nothing answers {request.method} {request.path}.")
        missing = [one for one in FIELDS if one not in request.params]
        if missing:
            raise no(400, "missing_field", f"{missing[0]}: must be given.")
        wanted = {one: request.params[one] for one in FIELDS}
        record = {
            "kind": "order",
            "id": request.params.get("id") or fresh_id("ord"),
            "at": time.time(),
            **wanted,
        }
        self._book.write(record)
        return Answer(201, shown(record))
