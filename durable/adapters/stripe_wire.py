"""The official Stripe client on our own wire, and what its errors mean.

Its own retries are off. The meaning of an answer to a send (docs.stripe.com/error-low-level,
/api/idempotent_requests):

- 429, 401, 403: decided before the idempotency layer, nothing was executed: `NotSent`;
- 400, 402, 404 in Stripe's JSON: a definitive no to this request: `VendorRefused`;
- `idempotency_error`, other parameters under this key: somebody acted under it with another body, perhaps we,
  before an upgrade changed how a body is written. That is no proof that nothing moved, and repeating can
  never succeed: `InDoubt(saved=True)`, so that a look-up or a person decides;
- 409, 5xx, a redirect, anything without Stripe's JSON: `InDoubt`; saved where a 5xx bears
  `Idempotent-Replayed`.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from functools import cache
from typing import Any

import stripe
from django.conf import settings

from durable.adapters import wire
from durable.errors import InDoubt, NotSent, VendorError, VendorRefused
from durable.text import cut


class Transport(stripe.HTTPClient):
    """Lets the official client send through `durable.adapters.wire`, inside its `within` block."""

    name = "interlock"

    def request(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str] | None,
        post_data: Any = None,
        *,
        _usage: list[str] | None = None,
    ) -> tuple[str, int, Mapping[str, str]]:
        """Send one request of the client's. Returns body, status and headers; raises what `wire.send` does."""
        reply = wire.send(method.upper(), url, headers or {}, post_data)
        # Bytes that are no text can't be Stripe's JSON: the client then says that it can't read them.
        return reply.body.decode("utf-8", "replace"), reply.status, reply.headers

    def close(self) -> None:
        """Nothing: the connections belong to the wire."""


@cache
def _client(api_key: str, base: str | None) -> stripe.StripeClient:
    addresses: Any = {"api": base} if base else None
    return stripe.StripeClient(
        api_key, base_addresses=addresses, max_network_retries=0, http_client=Transport()
    )


def client() -> stripe.StripeClient:
    """The client for the account of the settings. Raises NotSent while there is no key."""
    if not settings.STRIPE_API_KEY:
        raise NotSent("STRIPE_API_KEY: is not set; set it to the account's secret key")
    return _client(settings.STRIPE_API_KEY, settings.STRIPE_API_BASE or None)


def meaning(error: stripe.StripeError) -> VendorError:
    """What the client's `error` says about one send."""
    status = error.http_status
    headers: Mapping[str, str] = error.headers or {}
    if isinstance(error, stripe.RateLimitError) or status == 429:
        seconds = wire.seconds_in(_header(headers, "Retry-After"))
        return NotSent("Stripe limits the rate", None if seconds is None else timedelta(seconds=seconds))
    body = error.json_body.get("error") if isinstance(error.json_body, dict) else None
    if not isinstance(body, dict):
        return InDoubt(f"Stripe answered {status} and nothing that can be read")
    code = str(body.get("code") or body.get("type") or status)
    message = cut(str(body.get("message") or ""), 500)
    if isinstance(error, stripe.IdempotencyError) or body.get("type") == "idempotency_error":
        return InDoubt(f"idempotency_error: {message}", saved=status == 400)
    if status in (401, 403):
        return NotSent(f"Stripe does not take the credential ({status}); check STRIPE_API_KEY")
    if status in (400, 402, 404):
        return VendorRefused(code, message)
    replayed = _header(headers, "Idempotent-Replayed") == "true"
    return InDoubt(f"Stripe answered {status}: {message}", saved=replayed and (status or 0) >= 500)


def _header(headers: Mapping[str, str], name: str) -> str | None:
    return next((value for found, value in headers.items() if found.lower() == name.lower()), None)


def plain(found: object) -> dict[str, Any]:
    """An object of the client as plain data. Raises InDoubt where the answer was something else."""
    data = found.to_dict() if isinstance(found, stripe.StripeObject) else found
    if not isinstance(data, dict):
        raise InDoubt("Stripe answered 200 and nothing that can be read")
    return data
