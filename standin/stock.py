"""The stock service: reservations and their cancellations, by a vendor that honours no idempotency key.

Each POST makes a new reservation. The caller's `reference` is only a note, shown back and listed by; the list
may lag. An unknown stock-keeping unit is 404, one that starts with `NONE` is out of stock (422), a second
cancellation 422.
"""

from __future__ import annotations

from typing import Any

from standin.book import Book, Record, movement
from standin.faults import Plan
from standin.keys import Acted
from standin.modes import Modes
from standin.web import Answer, Refused, Request, fresh_id


def no(status: int, code: str, message: str) -> Refused:
    """A refusal in this vendor's own form, for the caller to raise."""
    return Refused(Answer(status, {"error": code, "message": message}))


def shown(record: Record) -> dict[str, Any]:
    """A record as the service shows it: without the book's own field."""
    return {name: value for name, value in record.items() if name != "kind"}


class Stock:
    """Reservations in the book. The same request twice makes two of them."""

    prefix = "/stock/reservations"
    name = "stock"

    def __init__(self, book: Book, modes: Modes) -> None:
        self._book, self._modes = book, modes

    def handle(self, request: Request, plan: Plan) -> Answer:
        """Answer one request, and as `plan` wants it.

        Raises Refused: 404 for what is not there, 400 for bad fields, 422 where nothing is left or it is cancelled.
        """
        parts = request.path.removeprefix(self.prefix).strip("/").split("/")
        name, rest = parts[0], parts[1:]
        if request.method == "GET" and not rest:
            return self._one(name, request) if name else self._list(request)
        if request.method != "POST" or (name and rest != ["cancellations"]):
            raise no(404, "not_found", f"Nothing answers {request.method} {request.path}.")
        if not name:
            return self._do(request, plan, lambda: self._reserve(request))
        return self._do(request, plan, lambda: self._cancel(name, request))

    def _do(self, request: Request, plan: Plan, act: Any) -> Answer:
        plan.before(lambda: _checked(request))()
        with self._book.lock:
            answer, records = plan.around(act, self.name)()
            self._book.write(*records)
        return answer

    def _one(self, name: str, request: Request) -> Answer:
        found = self._book.get("reservation", name)
        if found is None or self._modes.hides(found, request.lag):
            raise no(404, "not_found", f"There is no reservation {name}.")
        return Answer(200, shown(found))

    def _list(self, request: Request) -> Answer:
        wanted = request.params.get("reference")
        found = [one for one in self._book.all("reservation") if wanted in (None, one["reference"])]
        return Answer(
            200, {"reservations": [shown(one) for one in found if not self._modes.hides(one, request.lag)]}
        )

    def _reserve(self, request: Request) -> Acted:
        params, now = request.params, self._modes.now()
        if params["sku"].startswith("NONE"):
            raise no(422, "out_of_stock", f"There is nothing left of {params['sku']}.")
        record: Record = {
            "kind": "reservation", "id": fresh_id("rsv"), "sku": params["sku"],
            "quantity": params["quantity"],
            "reference": params["reference"], "order": params.get("order"), "status": "reserved",
            "cancellation": None, "at": now,
        }  # fmt: skip
        return Answer(201, shown(record)), [
            record,
            self._moved(record, record["id"], record["quantity"], request),
        ]

    def _cancel(self, name: str, request: Request) -> Acted:
        found = self._book.get("reservation", name)
        if found is None:
            raise no(404, "not_found", f"There is no reservation {name}.")
        if found["cancellation"] is not None:
            raise no(422, "already_cancelled", f"Reservation {name} has been cancelled already.")
        cancellation = {
            "id": fresh_id("cnl"),
            "reference": request.params["reference"],
            "at": self._modes.now(),
        }
        after = {**found, "status": "cancelled", "cancellation": cancellation, "at": cancellation["at"]}
        moved = self._moved(after, cancellation["id"], -found["quantity"], request)
        return Answer(201, shown(after)), [after, moved]

    def _moved(self, record: Record, name: str, quantity: int, request: Request) -> Record:
        facts = {"reservation": record["id"], "quantity": quantity, "order": record["order"]}
        entry = {
            "amount": None,
            "amount_minor": None,
            "currency": None,
            "target": record["sku"],
            "at": record["at"],
        }
        return movement(
            self._book,
            self.name,
            {**entry, "id": name, "key": request.params["reference"], "metadata": facts},
        )


def _checked(request: Request) -> None:
    params = request.params
    if not isinstance(params.get("reference"), str) or not 1 <= len(params["reference"]) <= 300:
        raise no(400, "bad_reference", "reference: must be a text of 1 to 300 characters.")
    if request.path.endswith("/cancellations"):
        return
    if not isinstance(params.get("sku"), str) or not params["sku"]:
        raise no(400, "bad_sku", "sku: must be a text.")
    quantity = params.get("quantity")
    if not isinstance(quantity, int) or isinstance(quantity, bool) or quantity < 1:
        raise no(400, "bad_quantity", "quantity: must be a whole number from 1.")
