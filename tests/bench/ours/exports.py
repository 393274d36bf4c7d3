"""A worker's export of a whole ledger of invented history: rows a second, and the most memory of its process."""

from __future__ import annotations

import os
import resource
import tempfile
import time

import psutil
from django.conf import settings
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import connection

from approvals.exports import orders, work
from approvals.models import Export
from durable import indexing
from durable.models import Effect
from tests.bench import exporting, kit


def measure() -> kit.Figures:
    """Fill the database, then make each file in a process of its own, as a worker's child does."""
    os.environ |= {"STATIC_HASHED": "false", "INTERLOCK_AGENTS": "durable.agents.refund_desk"}
    assert kit.phase("ours.exports", "fill") is not None
    found: kit.Figures = {}
    for form in exporting.FORMS:
        made = kit.phase("ours.exports", "make", form)
        assert made is not None
        found |= {f"{form}, {what}": value for what, value in made.items()}
    return found


def fill() -> kit.Figures:
    """Invent the history, and let it settle."""
    runs = max(exporting.EFFECTS // 5, 30)
    call_command("demodata", runs=runs, effects=exporting.EFFECTS, years=1.0)
    while indexing.catch_up(60):
        pass
    with kit.connect() as admin:
        admin.execute("VACUUM ANALYZE")
    return {}


def make(form: str) -> kit.Figures:
    """Ask for all of the ledger as an auditor, and make it."""
    with tempfile.TemporaryDirectory() as folder:
        settings.INTERLOCK_EXPORTS = folder
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        export = orders.order(User.objects.get(username="rita"), "ledger", "", form)
        worker, server = time.process_time(), _server()
        took = kit.timed(lambda: work.carry_on(export.pk))
        worker, server = time.process_time() - worker, _server() - server
        export = Export.objects.get(pk=export.pk)
    kit.done(export.rows, Effect.objects.count(), f"rows ({export.state} {export.words})")
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {
        "rows": kit.rate(export.rows, took),
        "bytes": export.bytes / took / 1e6,
        "busy server": server / export.rows * 1e6,
        "busy worker": worker / export.rows * 1e6,
        "memory": most / 1024,
        "more memory": (most - before) / 1024,
    }


def _server() -> float:
    """Seconds of processor time of the session with the database."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        times = psutil.Process(cursor.fetchone()[0]).cpu_times()
    return float(times.user + times.system)
