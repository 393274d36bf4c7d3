"""The engine as a Django application."""

from __future__ import annotations

from importlib import import_module

from django.apps import AppConfig


class DurableConfig(AppConfig):
    name = "durable"
    verbose_name = "Interlock"

    def ready(self) -> None:
        """Bind Celery's app, so that tasks find it in every process, and register the checks."""
        for name in ("celery", "checks"):  # they register themselves, once models are there
            import_module(f"durable.{name}")
