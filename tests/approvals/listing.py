"""Lists as pages show them."""

from __future__ import annotations

from django.test import Client


def listed(client: Client, href: str) -> int:
    """How many things stand in the list of an address, by the list's own count."""
    context = client.get(href).context
    return int(context["queue"]["total"] if "queue" in context else context["page"]["total"])
