"""The same web process for ASGI servers."""

from __future__ import annotations

import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "durable.settings")
# Requests share a process here: they share its connections too.
os.environ.setdefault("DATABASE_POOL", "8")

from django.core.asgi import get_asgi_application

from durable.checks import enter
from durable.settled import load_pages, settle
from durable.static import StaticASGI

enter("web")
application = StaticASGI(get_asgi_application())
load_pages()
settle()
