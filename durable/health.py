"""Two addresses for machines: is the process alive, and can it do its work."""

from __future__ import annotations

from django.conf import settings
from django.db import Error, connection
from django.http import HttpRequest, HttpResponse
from kombu import Connection
from kombu.exceptions import KombuError

from durable.checks import seal_key_trouble


def healthz(request: HttpRequest) -> HttpResponse:
    """200 as long as the process answers at all."""
    return HttpResponse("alive\n", content_type="text/plain")


def readyz(request: HttpRequest) -> HttpResponse:
    """200 when database and broker answer and the key opens what is sealed; else 503 with one sentence for each."""
    asked = (database_trouble(), seal_key_trouble(), broker_trouble())
    troubles = [trouble for trouble in asked if trouble]
    text = "\n".join(troubles) or "ready"
    answer = HttpResponse(f"{text}\n", content_type="text/plain", status=503 if troubles else 200)
    # Who asks every second is told; Django would log an error each time as well.
    answer._has_been_logged = True  # type: ignore[attr-defined]  # what `django.utils.log.log_response` looks at
    return answer


def database_trouble() -> str:
    """Empty, or what is wrong with the database, without its address."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except Error:
        return "The database does not answer. Nothing is lost: work goes on by itself when it is back."
    return ""


def broker_trouble() -> str:
    """Empty, or what is wrong with the broker, without its address."""
    try:
        with Connection(
            settings.CELERY_BROKER_URL.replace("valkey://", "redis://", 1), connect_timeout=2
        ) as broker:
            broker.ensure_connection(max_retries=1, timeout=2)
    except (OSError, KombuError):
        return "The broker does not answer. Runs go on when the sweeper finds them, so more slowly."
    return ""
