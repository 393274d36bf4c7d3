"""Speaking to the vendor stand-in as its operator does: seed what can be bought, arrange faults, read its book."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, cast
from urllib.parse import urlencode

import urllib3

from durable.adapters.stripe_money import to_stripe

#: The stand-in takes any key of a test account.
API_KEY = "sk_test_standin"
_SECONDS = 10.0


class VendorAway(Exception):
    """The stand-in does not answer, or not as asked. The message says what it said."""


@dataclass(frozen=True)
class Vendor:
    """A running stand-in at `url`. Every method raises VendorAway when it gives no good answer."""

    url: str
    _http: urllib3.PoolManager = field(default_factory=lambda: urllib3.PoolManager(retries=False), repr=False)

    def charge(self, amount: str, currency: str, **metadata: str) -> str:
        """Let a customer have paid `amount` (major units); returns the charge's id."""
        form = {"amount": str(to_stripe(Decimal(amount), currency)), "currency": currency.lower()}
        form |= {f"metadata[{name}]": value for name, value in metadata.items()}
        headers = {"Content-Type": "application/x-www-form-urlencoded", "Authorization": f"Bearer {API_KEY}"}
        return str(self._ask("POST", "/v1/charges", urlencode(form), headers)["id"])

    def order(self, name: str, **fields: Any) -> None:
        """Let the shop know an order: customer, email, charge, amount, currency, items, status."""
        self._ask("POST", "/orders", json.dumps({"id": name, **fields}))

    def refund(self, charge: str, amount: str, currency: str, key: str) -> str:
        """Give money back behind the product's back, as somebody with the vendor's own pages could. Returns its id."""
        form = {"charge": charge, "amount": str(to_stripe(Decimal(amount), currency))}
        headers = {"Content-Type": "application/x-www-form-urlencoded", "Authorization": f"Bearer {API_KEY}"}
        headers["Idempotency-Key"] = key
        return str(self._ask("POST", "/v1/refunds", urlencode(form), headers)["id"])

    def fault(self, kind: str, **rule: Any) -> None:
        """Arrange a fault; the kinds and fields are those of `standin.faults`."""
        self._ask("POST", "/_control/faults", json.dumps({"kind": kind, **rule}))

    def clear_faults(self) -> None:
        """Take every arranged fault away."""
        self._ask("DELETE", "/_control/faults")

    def requests(self) -> list[dict[str, Any]]:
        """Every request since the stand-in started, in order; its fields are those of `standin.control`."""
        return cast("list[dict[str, Any]]", self._ask("GET", "/_control/requests"))

    def modes(self, **wanted: Any) -> None:
        """Change standing switches, such as keys="ignore"; they are those of `standin.modes`."""
        self._ask("POST", "/_control/modes", json.dumps(wanted))

    def passes(self, seconds: float) -> None:
        """Let time go by at the vendor: keys age, look-ups catch up, and what was on its way has arrived."""
        self._ask("POST", "/_control/pass", json.dumps({"seconds": seconds}))

    def reset(self) -> None:
        """Let it forget everything: book, keys, faults, modes."""
        self._ask("POST", "/_control/reset", "{}")

    def book(self) -> list[dict[str, Any]]:
        """What really moved, in order: service, id, key, amount (major units, as text), currency, target, at."""
        return cast("list[dict[str, Any]]", self._ask("GET", "/_control/book"))

    def hang_up(self) -> None:
        """Close its connections, as before a fork; it opens new ones."""
        self._http.clear()

    def _ask(
        self, method: str, path: str, body: str | None = None, headers: dict[str, str] | None = None
    ) -> Any:
        headers = headers or {"Content-Type": "application/json"}
        try:
            reply = self._http.request(
                method, self.url + path, body=body, headers=headers, timeout=_SECONDS, redirect=False
            )
        except urllib3.exceptions.HTTPError as error:
            raise VendorAway(f"{method} {path}: {type(error).__name__}") from error
        if not 200 <= reply.status < 300:
            raise VendorAway(f"{method} {path}: {reply.status} {reply.data[:300].decode(errors='replace')}")
        return json.loads(reply.data)
