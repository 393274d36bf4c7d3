"""The same web process for WSGI servers."""

from __future__ import annotations

import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "durable.settings")
os.environ.setdefault("DATABASE_POOL", "8")

from django.core.wsgi import get_wsgi_application

from durable.checks import enter

enter("web")
application = get_wsgi_application()
