"""Shared by all tests. The services are `local.pytest_plugin`'s; this takes their database in pytest-django's place."""

from __future__ import annotations

from local.testdb import cheap_passwords, django_db_setup

__all__ = ["cheap_passwords", "django_db_setup"]
