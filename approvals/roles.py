"""The roles as groups of the database, made after each migration where they are missing."""

from __future__ import annotations

from typing import Any

from django.apps import AppConfig
from django.contrib.auth.management import create_permissions
from django.contrib.auth.models import Group, Permission

from approvals.capabilities import ROLES


def make_roles(sender: AppConfig, using: str, **_: Any) -> None:
    """Create the groups that do not exist yet, with their permissions. What an admin has changed stays as it is."""
    # Django makes permissions by the same signal, perhaps after us; making them is harmless twice.
    create_permissions(sender, verbosity=0, using=using)
    known = {
        p.codename: p for p in Permission.objects.using(using).filter(content_type__app_label=sender.label)
    }
    for name, capabilities in ROLES.items():
        group, created = Group.objects.using(using).get_or_create(name=name)
        if created:
            group.permissions.set([known[capability.value] for capability in capabilities])
