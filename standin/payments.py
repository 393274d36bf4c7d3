"""The payments service: charges, payment intents and refunds, as far as Stripe's API v1 is used here.

Amounts are integers in what Stripe calls the minor unit (`standin.rules`). Bodies are form-encoded, errors
have Stripe's JSON form, a bearer key (`sk_...`, `rk_...`) is asked for.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from typing import Any

from standin.book import Book, Record, movement
from standin.faults import Plan
from standin.keys import Acted, Keys, error
from standin.modes import Modes
from standin.rules import (
    LIST_FIELDS,
    REASONS,
    REFUND_FIELDS,
    STEP,
    check_sum,
    created_within,
    integer,
    invalid,
    major,
    metadata_of,
    missing,
    only,
)
from standin.web import Answer, Refused, Request, fresh_id


def shown(record: Record) -> dict[str, Any]:
    """A record as the API shows it: without the book's own fields."""
    return {name: value for name, value in record.items() if name not in ("kind", "at")}


class Payments:
    """Routes one request; `handle` raises Refused for what is not saved under a key."""

    prefix = "/v1/"
    name = "payments"

    def __init__(self, book: Book, keys: Keys, modes: Modes) -> None:
        self._book, self._keys, self._modes = book, keys, modes

    def handle(self, request: Request, plan: Plan) -> Answer:
        """Answer one request as Stripe does, and as `plan` wants it.

        Raises Refused for what no key keeps: 401 without an API key, 404 for what is not there, 400 for bad fields.
        """
        self._authenticate(request)
        kind, _, name = request.path.removeprefix(self.prefix).partition("/")
        if request.method == "GET":
            return self._read(kind, name, request)
        makers: dict[str, Callable[[Request], tuple[Callable[[], None], Callable[[], Acted]]]] = {
            "refunds": self._refund,
            "charges": self._charge,
            "payment_intents": self._intent,
        }
        if request.method != "POST" or name or kind not in makers:
            message = f"Unrecognized request URL ({request.method}: {request.path})."
            raise Refused(error(404, "invalid_request_error", message))
        check, act = makers[kind](request)
        return self._keys.run(request, plan.before(check), plan.around(act), save=plan.saves)

    def _authenticate(self, request: Request) -> None:
        scheme, _, secret = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "basic":
            secret = base64.b64decode(secret).decode().partition(":")[0]
        if not re.fullmatch(r"[sr]k_\w+", secret):
            raise Refused(error(401, "invalid_request_error", "Invalid API Key provided."))

    def _read(self, kind: str, name: str, request: Request) -> Answer:
        if kind == "refunds" and not name:
            return self._list(request)
        tables = {"refunds": "refund", "charges": "charge", "payment_intents": "payment_intent"}
        record = self._book.get(tables.get(kind, ""), name)
        if record is None or (kind == "refunds" and self._modes.hides(record, request.lag)):
            raise missing(tables.get(kind, kind), name, "id")
        return Answer(200, shown(record))

    def _list(self, request: Request) -> Answer:
        params = request.params
        only(params, LIST_FIELDS)
        found = [one for one in reversed(self._book.all("refund")) if not self._modes.hides(one, request.lag)]
        for name in ("charge", "payment_intent"):
            if params.get(name):
                found = [one for one in found if one[name] == params[name]]
        found = [one for one in found if created_within(params.get("created"), one["created"])]
        limit = integer(params.get("limit", "10"), "limit")
        if not 1 <= limit <= 100:
            raise invalid("Limit must be between 1 and 100.", param="limit")
        if after := params.get("starting_after"):
            names = [one["id"] for one in found]
            if after not in names:
                raise missing("refund", after, "starting_after")
            found = found[names.index(after) + 1 :]
        data = [shown(one) for one in found[:limit]]
        return Answer(
            200, {"object": "list", "url": "/v1/refunds", "has_more": len(found) > limit, "data": data}
        )

    def _refund(self, request: Request) -> tuple[Callable[[], None], Callable[[], Acted]]:
        params = request.params

        def check() -> None:
            only(params, REFUND_FIELDS)
            self._target(params)
            metadata_of(params)
            if params.get("reason") not in (None, *REASONS):
                raise invalid(f"Invalid reason: must be one of {', '.join(REASONS)}", param="reason")
            if "amount" in params and integer(params["amount"], "amount") < 1:
                raise invalid("Invalid positive integer", "parameter_invalid_integer", "amount")

        def act() -> Acted:
            charge = self._target(params)
            left = charge["amount"] - charge["amount_refunded"]
            amount = integer(params.get("amount", str(left)), "amount")
            if left == 0:
                message = f"Charge {charge['id']} has already been refunded."
                raise invalid(message, "charge_already_refunded", saved=True)
            if amount > left:
                message = f"Refund amount ({amount}) is greater than unrefunded amount on charge ({left})"
                raise invalid(message, param="amount", saved=True)
            if amount % STEP.get(charge["currency"].upper(), 1):
                raise invalid(
                    "Invalid amount.", "invalid_charge_amount_no_decimal_compatible", "amount", saved=True
                )
            return self._refunded(charge, amount, request)

        return check, act

    def _refunded(self, charge: Record, amount: int, request: Request) -> Acted:
        now = self._modes.now()
        refund: Record = {
            "kind": "refund", "at": now, "id": fresh_id("re"), "object": "refund", "amount": amount,
            "balance_transaction": fresh_id("txn"), "charge": charge["id"], "created": int(now),
            "currency": charge["currency"], "metadata": metadata_of(request.params),
            "payment_intent": charge["payment_intent"], "reason": request.params.get("reason"),
            "receipt_number": None, "status": "succeeded",
        }  # fmt: skip
        total = charge["amount_refunded"] + amount
        after = {**charge, "amount_refunded": total, "refunded": total == charge["amount"]}
        moved = {"amount": major(amount, charge["currency"]), "amount_minor": amount, "target": charge["id"]}
        entry = {**moved, "currency": charge["currency"].upper(), "at": now, "metadata": refund["metadata"]}
        record = movement(self._book, self.name, {**entry, "id": refund["id"], "key": request.key})
        return Answer(200, shown(refund)), [refund, after, record]

    def _charge(self, request: Request) -> tuple[Callable[[], None], Callable[[], Acted]]:
        def act() -> Acted:
            record = self._new_charge(request, intent=None)
            return Answer(200, shown(record)), [record]

        return lambda: check_sum(request.params), act

    def _intent(self, request: Request) -> tuple[Callable[[], None], Callable[[], Acted]]:
        def act() -> Acted:
            name = fresh_id("pi")
            charge = self._new_charge(request, intent=name)
            intent: Record = {
                "kind": "payment_intent", "at": charge["at"], "id": name, "object": "payment_intent",
                "amount": charge["amount"], "amount_received": charge["amount"],
                "currency": charge["currency"],
                "created": charge["created"], "latest_charge": charge["id"], "metadata": charge["metadata"],
                "status": "succeeded",
            }  # fmt: skip
            return Answer(200, shown(intent)), [charge, intent]

        return lambda: check_sum(request.params), act

    def _new_charge(self, request: Request, intent: str | None) -> Record:
        params, now = request.params, self._modes.now()
        amount = integer(params["amount"], "amount")
        return {
            "kind": "charge", "at": now, "id": fresh_id("ch"), "object": "charge", "amount": amount,
            "amount_captured": amount, "amount_refunded": 0, "captured": True, "created": int(now),
            "currency": params["currency"].lower(), "customer": params.get("customer"),
            "description": params.get("description"), "disputed": False, "metadata": metadata_of(params),
            "paid": True, "payment_intent": intent, "refunded": False, "status": "succeeded",
        }  # fmt: skip

    def _target(self, params: dict[str, Any]) -> Record:
        if intent := params.get("payment_intent"):
            found = self._book.get("payment_intent", intent)
            if found is None:
                raise missing("payment_intent", intent, "payment_intent")
            return self._book.get("charge", found["latest_charge"]) or {}
        name = params.get("charge")
        if not name:
            message = (
                "One of the following params should be provided for this request: payment_intent or charge."
            )
            raise invalid(message, "parameter_missing")
        charge = self._book.get("charge", name)
        if charge is None:
            raise missing("charge", name, "charge")
        return charge
