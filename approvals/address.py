"""The network address that a request came from: what the connection says, never what a client says of itself.

Behind proxies the connection is the nearest proxy's. Each of them adds the address that it was asked from to
`X-Forwarded-For`, at the end; `PROXY_HOPS` says how many do. What stands before those anybody may have written.
"""

from __future__ import annotations

import ipaddress

from django.conf import settings
from django.http import HttpRequest


def of(request: HttpRequest) -> str:
    """The address of whoever asks; that of the connection where the header does not hold enough. May be empty."""
    connection: str = request.META.get("REMOTE_ADDR", "")
    hops: int = settings.PROXY_HOPS
    told = [part.strip() for part in request.headers.get("X-Forwarded-For", "").split(",")]
    if not hops or len(told) < hops:
        return connection
    try:
        return str(ipaddress.ip_address(told[-hops]))
    except ValueError:
        return connection
