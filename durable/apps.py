"""The engine as a Django application."""

from __future__ import annotations

from django.apps import AppConfig


class DurableConfig(AppConfig):
    name = "durable"
    verbose_name = "Interlock"

    def ready(self) -> None:
        """Bind Celery's app, so that tasks find it in every process, and register the checks."""
        from durable import celery, checks  # noqa: F401  # they register themselves
