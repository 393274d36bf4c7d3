"""The console as a Django application."""

from __future__ import annotations

from django.apps import AppConfig
from django.db.models.signals import post_migrate


class ApprovalsConfig(AppConfig):
    name = "approvals"
    verbose_name = "Approvals"

    def ready(self) -> None:
        """The roles are there once the tables are; sign-ins are logged."""
        from approvals import signins
        from approvals.roles import make_roles

        signins.connect()
        post_migrate.connect(make_roles, sender=self, dispatch_uid="approvals.roles")
