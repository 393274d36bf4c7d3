"""The web process: `granian --interface asginl durable.asgi:application`."""

from __future__ import annotations

import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "durable.settings")
# Requests share a process here: they share its connections too.
os.environ.setdefault("DATABASE_POOL", "8")

from django.core.asgi import get_asgi_application

from durable.checks import enter

enter("web")
application = get_asgi_application()
