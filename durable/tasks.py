"""Celery's entry points. A message carries a run's id and nothing else; the database says what is due."""

from __future__ import annotations

import logging

from celery import shared_task
from django.db import close_old_connections

from durable import draining, erasing, runner
from durable.retention import passes
from durable.roots import builder, horizon, keeping, signing
from durable.vendor_statements import requests

log = logging.getLogger(__name__)


@shared_task(name="durable.drive")
def drive(run_ref: str) -> None:
    """Take a run as far as it goes, if it is due and nobody holds it."""
    close_old_connections()  # one that broke since the last run is found out before anything is claimed through it
    with draining.heeding():
        runner.drive(run_ref)


@shared_task(name="durable.prune")
def prune() -> None:
    """Go on with the day's pass: what the policy no longer keeps goes."""
    close_old_connections()
    passes.daily()


@shared_task(name="durable.erase")
def erase(pk: int | None = None) -> None:
    """Go on with an erasure; without a number, with each that has something left to do."""
    close_old_connections()
    for found in list(erasing.due()) if pk is None else [pk]:
        erasing.carry_on(found)


@shared_task(name="durable.roots")
def roots() -> None:
    """Make the roots that are due, where this process can sign them, and see that anchors keep those that there are."""
    close_old_connections()
    try:
        builder.build()
    except (signing.NoKey, horizon.OutOfOrder) as error:
        log.error("no root is made: %s", error)
    keeping.keep()


@shared_task(name=requests.TASK)
def statements() -> None:
    """Make the statements of vendors that are due, by the schedule or because somebody has asked."""
    close_old_connections()
    requests.pass_over()
