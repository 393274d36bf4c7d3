"""The roles as groups of the database, made after each migration where they are missing."""

from __future__ import annotations

from typing import Any

from django.apps import AppConfig
from django.contrib.auth.management import create_permissions
from django.contrib.auth.models import Group, Permission

from approvals.capabilities import ROLES
from durable import acts
from durable.journal import ENGINE


def make_roles(sender: AppConfig, using: str, **_: Any) -> None:
    """Create the groups that do not exist yet, with their permissions. What an admin has changed stays as it is.

    A permission that is new since the last migration is given, this once, to those roles that bring it: without it a
    group of an older installation could not see what was added. An admin who takes it away again is not overruled.
    """
    with acts.acting(ENGINE, using=using):
        _make(sender, using)


def _make(sender: AppConfig, using: str) -> None:
    before = _codenames(sender, using)
    # Django makes permissions by the same signal, after us: `approvals` stands before `auth` among the applications.
    create_permissions(sender, verbosity=0, using=using)
    known = {
        p.codename: p for p in Permission.objects.using(using).filter(content_type__app_label=sender.label)
    }
    new = known.keys() - before
    for name, capabilities in ROLES.items():
        group, created = Group.objects.using(using).get_or_create(name=name)
        brings = {capability.value for capability in capabilities}
        group.permissions.add(*(known[codename] for codename in (brings if created else brings & new)))


def _codenames(sender: AppConfig, using: str) -> set[str]:
    found = Permission.objects.using(using).filter(content_type__app_label=sender.label)
    return set(found.values_list("codename", flat=True))
