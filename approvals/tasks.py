"""The console's work in the background. A message says which act to look at; the database says what is left of it."""

from __future__ import annotations

from celery import shared_task
from django.core.management import call_command
from django.db import close_old_connections

from approvals import attempts, bulk, catalogue, throttle
from approvals.exports import orders, work
from durable import draining


@shared_task(name=bulk.TASK)
def carry_on(pk: int | None = None) -> None:
    """Go on with a bulk act; without a number, with each that is under way and that nobody is at.

    Then the log is also told how often something was refused in whiles that are over.
    """
    close_old_connections()
    if pk is None:
        attempts.tell()
    catalogue.load()
    with draining.heeding():
        for found in bulk.left() if pk is None else [pk]:
            bulk.carry_on(found)


@shared_task(name=orders.TASK)
def export(pk: int | None = None) -> None:
    """Make an export; without a number, each that nobody is at, and take away the files whose time is over."""
    close_old_connections()
    catalogue.load()
    with draining.heeding():
        for found in work.left() if pk is None else [pk]:
            work.carry_on(found)
        if pk is None:
            orders.sweep()


@shared_task(name="approvals.tidy")
def tidy() -> None:
    """Delete sign-ins that are over, and counts of tries that count no more."""
    close_old_connections()
    call_command("clearsessions")
    throttle.forget_old()
