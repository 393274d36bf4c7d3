"""The web process: `granian --interface wsgi durable.wsgi:application`.

Every view and middleware is plain code: a thread answers a request from its first byte to its last. Under ASGI each of
them would be handed from thread to thread on its way, which costs more than most of the answers.
"""

from __future__ import annotations

import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "durable.settings")
# Requests share a process here: they share its connections too.
os.environ.setdefault("DATABASE_POOL", "8")

from django.core.wsgi import get_wsgi_application

from durable.checks import enter
from durable.settled import load_pages, settle
from durable.static import Static

enter("web")
application = Static(get_wsgi_application())
load_pages()
settle()
