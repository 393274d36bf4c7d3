"""The shop's own HTTP services (stock, orders): JSON, no idempotency keys, and what their answers mean.

429 is `NotSent`. A 4xx whose JSON has an `error` code is `VendorRefused`, except 408 and 409, which like 5xx,
redirects and whatever can't be read are `InDoubt`. In a look-up every failure is `CannotSay`.
"""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

from django.conf import settings

from durable.adapters import wire
from durable.errors import CannotSay, InDoubt, NotSent, VendorError, VendorRefused
from durable.text import cut

STILL_OPEN = (408, 409)


def post(path: str, body: dict[str, Any], timeout: float) -> dict[str, Any]:
    """Ask the shop to do something, once. `timeout` is in seconds, for the whole call."""
    text = json.dumps(body, separators=(",", ":"))
    with wire.within(timeout):
        reply = wire.send("POST", _url(path), {"Content-Type": "application/json"}, text)
    return _read(reply)


def get(path: str, query: dict[str, str], timeout: float) -> dict[str, Any]:
    """Ask the shop what is. Raises VendorRefused for a definitive no (404), CannotSay for every other
    failure.
    """
    try:
        with wire.within(timeout):
            reply = wire.send("GET", _url(path) + (f"?{urlencode(query)}" if query else ""), {})
        return _read(reply)
    except VendorRefused:
        raise
    except VendorError as error:
        raise CannotSay(f"the look-up failed: {error}") from error


def _url(path: str) -> str:
    if not settings.SHOP_API_BASE:
        raise NotSent("SHOP_API_BASE: is not set; set it to the address of the shop's services")
    return f"{settings.SHOP_API_BASE}{path}"


def _read(reply: wire.Reply) -> dict[str, Any]:
    if reply.status == 429:
        seconds = wire.seconds_in(reply.headers.get("Retry-After"))
        raise NotSent("the shop limits the rate", None if seconds is None else timedelta(seconds=seconds))
    try:
        body = json.loads(reply.body)
    except ValueError:
        body = None
    if not isinstance(body, dict):
        raise InDoubt(f"the shop answered {reply.status} and nothing that can be read")
    if 200 <= reply.status < 300:
        return body
    code, message = body.get("error"), cut(str(body.get("message", "")), 500)
    if 400 <= reply.status < 500 and reply.status not in STILL_OPEN and isinstance(code, str):
        raise VendorRefused(code, message)
    raise InDoubt(f"the shop answered {reply.status}: {message}")
