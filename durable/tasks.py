"""Celery's entry points. A message carries a run's id and nothing else; the database says what is due."""

from __future__ import annotations

from celery import shared_task
from django.db import close_old_connections

from durable import draining, retention, runner


@shared_task(name="durable.drive")
def drive(run_ref: str) -> None:
    """Take a run as far as it goes, if it is due and nobody holds it."""
    close_old_connections()  # one that broke since the last run is found out before anything is claimed through it
    with draining.heeding():
        runner.drive(run_ref)


@shared_task(name="durable.prune")
def prune() -> None:
    """Delete what its retention no longer keeps."""
    retention.prune()
