"""Celery, as the alarm clock of the engine: a message says "look", the database says what is due.

So the broker may lose or repeat any message. No result is kept, nothing travels but JSON, and no long wait is ever a
countdown: brokers of Redis' kind deliver those twice.
"""

from __future__ import annotations

import os
import sys
from datetime import timedelta
from typing import Any

from celery import Celery
from celery.signals import beat_init, celeryd_init, worker_init, worker_shutting_down
from kombu.transport.redis import Channel, Transport
from redis.exceptions import ConnectionError as RedisConnectionError

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "durable.settings")

from django.conf import settings

from durable import draining
from durable.checks import enter, enter_with_key
from durable.settled import settle

if "celery" in sys.argv[0]:
    enter("celery")

#: One queue a concern, so that a backlog of runs can be given workers of its own.
RUNS, RETENTION, BULK = "runs", "retention", "bulk"

app = Celery("interlock")


def transport_options(url: str) -> dict[str, float]:
    """How soon a publish gives up; for Redis' kind, how soon a dead worker's messages come back and a call may hang."""
    # Without these a publish waits for the broker, and a person's decision or the sweeper with it.
    soon = {"max_retries": 1, "interval_start": 0.1, "interval_step": 0.0, "interval_max": 0.1}
    if not url.startswith(("redis", "valkey")):
        return soon
    return soon | {
        "visibility_timeout": 600,
        "unacked_restore_interval": 2,
        "unacked_restore_throttle": 1,
        "socket_timeout": 10,
        "socket_connect_timeout": 2,
    }


class Line(Channel):
    """A channel to a broker of Redis' kind that says so, as connections say it, once its connection is closed.

    kombu asks a closed one for its address when a hint is acknowledged or put back, and the AttributeError ends the
    worker with all that it is driving. What a lost connection means it knows: it connects again.
    """

    def _connparams(self, asynchronous: bool = False) -> Any:
        transport: Any = self.connection
        if transport is None or transport.client is None:
            raise RedisConnectionError("the connection to the broker is closed")
        return super()._connparams(asynchronous=asynchronous)  # type: ignore[misc]  # its types leave out what is private


Transport.Channel = Line

#: Beat's plan. Sweeping is not in it: `manage.py sweep --forever` must go on when the broker does not.
SCHEDULE = {
    # What is due goes once a day (`durable.retention.passes`); a pass that was cut off is soon gone on with.
    "prune": {"task": "durable.prune", "schedule": timedelta(minutes=15), "options": {"expires": 900}},
    "roots": {
        "task": "durable.roots",
        "schedule": settings.ROOT_SECONDS,
        "options": {"expires": settings.ROOT_SECONDS.total_seconds()},
    },
    # Erasures whose message was lost, whose worker has died, or which wait for runs to end.
    "erase": {"task": "durable.erase", "schedule": timedelta(seconds=60), "options": {"expires": 60}},
    # What is due, and whether anything is, the database says: a day that beat slept through is caught up.
    "statements": {
        "task": "durable.statements",
        "schedule": timedelta(minutes=1),
        "options": {"expires": 60},
    },
    "sign-ins": {"task": "approvals.tidy", "schedule": timedelta(hours=1), "options": {"expires": 3600}},
    # Bulk acts whose message was lost, or whose worker has died: any worker goes on with them.
    "bulk": {"task": "approvals.carry_on", "schedule": timedelta(seconds=15), "options": {"expires": 15}},
    # The same for exports; and those whose time is over go.
    "exports": {"task": "approvals.export", "schedule": timedelta(seconds=15), "options": {"expires": 15}},
}


app.conf.update(
    broker_url=settings.CELERY_BROKER_URL.replace("valkey://", "redis://", 1) or "memory://",
    broker_transport_options=transport_options(settings.CELERY_BROKER_URL),
    broker_connection_retry_on_startup=True,
    broker_connection_max_retries=None,
    accept_content=["json"],
    task_serializer="json",
    result_backend=None,
    task_ignore_result=True,
    task_acks_late=True,
    task_reject_on_worker_lost=True,
    task_default_queue=RUNS,
    task_routes={
        "durable.prune": {"queue": RETENTION},
        "durable.erase": {"queue": RETENTION},
        "durable.roots": {"queue": RETENTION},
        "durable.statements": {"queue": RETENTION},
        "approvals.carry_on": {"queue": BULK},
        "approvals.export": {"queue": BULK},
        "approvals.tidy": {"queue": BULK},
    },
    worker_prefetch_multiplier=1,
    # Else Celery closes the connection around every task, and each run begins with a cold server process. `tasks` sees
    # that the one kept is alive; now and then it is replaced all the same, with what the server has cached for it.
    CELERY_DB_REUSE_MAX=1_000,
    worker_cancel_long_running_tasks_on_connection_loss=False,
    worker_hijack_root_logger=False,
    worker_redirect_stdouts=False,
    enable_utc=True,
    timezone="UTC",
    beat_schedule=SCHEDULE,
    # Kept in memory: pruning an hour later does no harm, and a file could only be corrupted.
    beat_scheduler="celery.beat:Scheduler",
)
app.autodiscover_tasks()  # of every installed application: the console has its own


@celeryd_init.connect(weak=False)
def _begin_afresh(**_: object) -> None:
    """Before the pool is forked: what another worker of the same parent is told is none of this one's business."""
    draining.renew()


@worker_init.connect(weak=False)
@beat_init.connect(weak=False)
def _prove_the_key(**_: object) -> None:
    """Before the pool is forked and anything is claimed."""
    enter_with_key("celery")


@worker_init.connect(weak=False)
def _settle(**_: object) -> None:
    """Before the pool is forked, whose children drive runs."""
    settle()


@worker_shutting_down.connect(weak=False)
def _drain(**_: object) -> None:
    """Sent inside the main process's signal handler, before it waits for the pool's children."""
    draining.begin()
