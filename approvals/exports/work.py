"""A worker's part: claim an export, make its file beside a beating lease, and commit that it is whole, or why not."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import psycopg
from django.conf import settings
from django.contrib.auth.models import User
from django.db import Error, InterfaceError, OperationalError, connection
from django.db.models import F, Q, QuerySet

from approvals import access
from approvals.exports import files, making, orders, sources
from approvals.exports.making import Counter, Made
from approvals.models import Export
from approvals.states import UNDER_WAY_VALUES, ExportState
from durable import draining, journal
from durable.beats import committing, stating
from durable.errors import InterlockError, Invalid
from durable.models.fields import Clock
from durable.states import ActKind

log = logging.getLogger(__name__)

#: A worker says with each beat how far it is; where it is silent for as long as a lease, another one begins anew.
LEASE: timedelta = settings.LEASE_SECONDS
BEAT = min(1.0, LEASE.total_seconds() / 4)
#: So many workers may die over one export, or be told to end; then it has failed.
CLAIMS = 8


class Overtaken(Exception):
    """It was stopped, or another worker is at it: nothing is kept of what this one has made."""


class HandedBack(Exception):
    """This worker is to end; another one begins anew."""


def left() -> list[int]:
    """The exports that are under way and that nobody is at: their worker has died, or their message was lost."""
    return list(Export.objects.filter(_unheld()).order_by("pk").values_list("pk", flat=True))


def _unheld() -> Q:
    return Q(state__in=UNDER_WAY_VALUES) & (Q(lease_until=None) | Q(lease_until__lt=Clock()))


def carry_on(pk: int) -> None:
    """Make an export, if nobody is at it. However it goes, either a whole file is left, or none."""
    with stating("command"):
        claimed = Export.objects.filter(_unheld(), pk=pk).update(
            claim=F("claim") + 1, state=ExportState.MAKING.value, lease_until=Clock() + LEASE, rows=0
        )
    if not claimed:
        return
    export = Export.objects.select_related("person").get(pk=pk)
    if export.claim > CLAIMS:
        return _failed(
            export, f"{CLAIMS} workers have begun with it and none has ended: ask for less at once"
        )
    try:
        sources.check(export.person, export.of)
        with _beating(export) as counter:
            made = making.make(export, counter, lambda: _heed(counter))
        _keep(export, made)
    except Overtaken:
        log.info("export %s was stopped or overtaken", pk)
    except HandedBack:
        with stating("command"):
            _mine(export).update(lease_until=None)
        orders.announce(pk)
    except (OperationalError, InterfaceError) as error:
        log.warning("the database went away under export %s: %s", pk, type(error).__name__)
    except Invalid as error:  # its sentence may hold what was asked for, and that may name somebody
        _failed(export, f"what was asked for ({error.field}) can't be answered any more; ask for it again")
    except (InterlockError, access.Missing) as error:
        _failed(export, str(error))
    except Exception as error:
        log.error("export %s failed: %s", pk, type(error).__name__)
        _failed(export, f"it failed unexpectedly ({type(error).__name__}); the worker's log says more")


def _heed(counter: Counter) -> None:
    if counter.over:
        raise Overtaken
    if draining.on():
        raise HandedBack


@contextmanager
def _beating(export: Export) -> Iterator[Counter]:
    """For a block, the lease beats in a thread beside it, with a connection of its own, and says how far it is.

    Once nobody waits for the export any more, whatever the block asks the server is cancelled.
    """
    counter, done = Counter(), threading.Event()
    connection.ensure_connection()
    thread = threading.Thread(target=_beat, args=(export, counter, done, connection.connection), daemon=True)
    thread.start()
    try:
        yield counter
    except (Error, psycopg.Error):
        if counter.over:
            raise Overtaken from None
        raise
    finally:
        done.set()
        thread.join()


def _beat(export: Export, counter: Counter, done: threading.Event, wire: psycopg.Connection[object]) -> None:
    try:
        while not done.wait(BEAT):
            with stating("command"):
                held = _mine(export).update(
                    lease_until=Clock() + LEASE, rows=counter.rows, total=counter.total
                )
            if not held:
                counter.over = True
                wire.cancel_safe()
                return
    except Exception as error:  # without a lease its file would not be taken: another worker makes one
        log.warning("the lease of export %s is lost: %s", export.pk, type(error).__name__)
        counter.over = True
    finally:
        connection.close()  # this thread's own


def _mine(export: Export) -> QuerySet[Export]:
    return Export.objects.filter(pk=export.pk, claim=export.claim, state=ExportState.MAKING.value)


def _keep(export: Export, made: Made) -> None:
    """Commit that the file is whole, with what it says of itself, unless it was stopped or its maker lost the right."""
    try:
        with committing("command"):
            if not _mine(export).select_for_update().exists():
                raise Overtaken
            sources.check(User.objects.get(pk=export.person_id), export.of)
            rows = made.manifest["rows"]
            Export.objects.filter(pk=export.pk).update(
                state=ExportState.MADE.value, file=made.file, manifest=made.manifest, rows=rows, total=rows,
                bytes=made.manifest["bytes"], ended_at=Clock(), expires_at=Clock() + settings.EXPORT_KEEP_SECONDS,
                lease_until=None,
            )  # fmt: skip
            orders.record(
                ActKind.EXPORT_MADE, export, journal.ENGINE, {"state": ExportState.MAKING.value},
                {"state": ExportState.MADE.value}, rows=rows, sha256=made.manifest["sha256"],
            )  # fmt: skip
    except (Overtaken, InterlockError, access.Missing):
        files.remove(made.file)  # of whatever else nobody knows whether it was committed: the sweep knows
        raise


def _failed(export: Export, why: str) -> None:
    with committing("command"):
        if _mine(export).select_for_update().exists():
            words = f"{why[:1].upper()}{why[1:]}".rstrip(".")
            orders.end(export, ExportState.FAILED, ActKind.EXPORT_FAILED, journal.ENGINE, words)
