"""Addresses: the console's own, and two for machines."""

from __future__ import annotations

from django.urls import include, path

from durable.health import healthz, readyz

handler400 = "durable.middleware.unreadable"
handler403 = "approvals.views.refusals.forbidden"
handler500 = "durable.middleware.failed"
urlpatterns = [
    path("healthz", healthz, name="healthz"),
    path("readyz", readyz, name="readyz"),
    path("", include("approvals.urls")),
]
