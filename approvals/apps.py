"""The console as a Django application."""

from __future__ import annotations

from django.apps import AppConfig
from django.db.models.signals import post_migrate


class ApprovalsConfig(AppConfig):
    name = "approvals"
    verbose_name = "Approvals"

    def ready(self) -> None:
        """The roles are there once the tables are; sign-ins are logged, and bring the person's time zone."""
        from django.contrib.auth.signals import user_logged_in

        from approvals import signins, zones
        from approvals.roles import make_roles

        signins.connect()
        user_logged_in.connect(zones.signed_in, dispatch_uid="approvals.zone")
        post_migrate.connect(make_roles, sender=self, dispatch_uid="approvals.roles")
