"""How soon: three promises with a number in them, measured on real workers by the database's own clock.

A killed worker's run goes on, a due step starts without a broker, and nothing more is meant to be done after a stop.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from datetime import datetime

from django.db.models import Max, QuerySet
from django.test.utils import override_settings

from durable import clock, runs, stops
from durable.models import Attempt, LedgerEvent, Run
from durable.states import EventKind
from local.process import kill_group
from proof.report import Row, Say
from proof.stage import SWEEPER, Stage, stage

SAMPLES = 20
LEASE = 3.0
#: The most seconds that each may take.
RESUMED, STARTED, STOPPED = LEASE + 5.0, 15.0, 5.0
AGAIN = "python -m proof.promptness"
_AGENTS = "proof.promptness.agents"
_NO_BROKER = "redis://127.0.0.1:1/0"
_PATIENCE = 120.0
#: Runs that act at the same time, and the seconds without an intent after which they have been stopped.
_BUSY, _QUIET = 3, 0.7


def prove(say: Say, *, samples: int = SAMPLES) -> list[Row]:
    """Measure all three, so many times each. The services are those of the environment."""
    from proof.promptness import agents

    rows = []
    with (
        override_settings(INTERLOCK_AGENTS=[_AGENTS]),
        stage(INTERLOCK_AGENTS=_AGENTS, LEASE_SECONDS=str(LEASE), LOG_LEVEL="ERROR") as on,
    ):
        for what, limit, measure, agent in (
            ("a killed worker's run is resumed", RESUMED, resumed, agents.Held),
            ("without a broker a due run is started", STARTED, started, agents.Quick),
            ("from a stop order to the last intent", STOPPED, stopped, agents.Busy),
        ):
            began = time.monotonic()
            rows.append(judged(what, measure(on, agent.name, samples), limit, began))
            say(f"  {what}: {rows[-1].remark}")
    return rows


def judged(what: str, seconds: Sequence[float], limit: float, began: float) -> Row:
    """Return the row of what has been measured: whatever took longer than `limit` is a violation."""
    found = sorted(seconds)
    late = tuple(f"once it took {one:.1f} s, which is more than {limit:g} s" for one in found if one > limit)
    told = "nothing was measured"
    if found:
        at = {share: found[min(int(len(found) * share), len(found) - 1)] for share in (0.5, 0.95)}
        told = f"p50 {at[0.5]:.2f} s, p95 {at[0.95]:.2f} s, most {found[-1]:.2f} s; at most {limit:g} s"
    return Row(what, len(found), late, time.monotonic() - began, told, AGAIN)


def _worker(on: Stage, name: str, at_once: int) -> int:
    """Start a real Celery worker that drives so many runs at once; returns its process, which leads a group."""
    python = (sys.executable, "-W", "ignore::UserWarning:celery.platforms", "-m", "proof.worker")
    return on.start(
        (*python, "--", "-Q", "runs", "-n", f"{name}@%h", "-P", "threads", "-c", str(at_once))
    ).pid


def _until(true: Callable[[], bool], what: str, on: Stage) -> None:
    end = time.monotonic() + _PATIENCE
    while not true():
        if time.monotonic() > end:
            raise RuntimeError(f"{what} has not come about: {on.said()}")
        time.sleep(0.05)


def _started(agent: str, count: int, pause: float = 0.0) -> list[int]:
    made = []
    for _ in range(count):
        made.append(runs.start(agent, {}, actor="promptness").pk)
        time.sleep(pause)
    return made


def _claimed(ids: Sequence[int], number: int) -> dict[int, datetime]:
    """When the attempt of that number of each run began."""
    begun = Attempt.objects.filter(run__in=ids, number=number)
    return dict(begun.values_list("run_id", "claimed_at"))


def resumed(on: Stage, agent: str, samples: int) -> list[float]:
    """Kill a worker in the middle of so many runs, beside another one. Seconds until each goes on."""
    ids = _started(agent, samples)
    doomed = _worker(on, "doomed", samples)
    _until(lambda: len(_claimed(ids, 1)) == samples, "every run to be claimed", on)
    time.sleep(LEASE)  # so that leases are in all their phases
    survivor = _worker(on, "survivor", 8)
    on.start(SWEEPER)
    time.sleep(LEASE)
    kill_group(doomed)
    killed = clock.db_now()
    _until(lambda: len(_claimed(ids, 2)) == samples, "every run to go on", on)
    kill_group(survivor)
    on.close()
    return [(at - killed).total_seconds() for at in _claimed(ids, 2).values()]


def started(on: Stage, agent: str, samples: int) -> list[float]:
    """Start runs of which no worker hears: a broker has taken their messages and is gone. Seconds until each starts."""
    on.start(SWEEPER, CELERY_BROKER_URL=_NO_BROKER)
    ids = _started(agent, samples, pause=0.3)
    _until(lambda: len(_claimed(ids, 1)) == samples, "every run to be started", on)
    on.close()
    due = dict(Run.objects.filter(pk__in=ids).values_list("pk", "created_at"))
    return [(at - due[pk]).total_seconds() for pk, at in _claimed(ids, 1).items()]


def _last_after(order: datetime, intents: QuerySet[LedgerEvent]) -> float:
    """Wait until no intent comes any more, or far too late. Seconds from the order to the last; 0 where none came."""
    end = time.monotonic() + 2 * STOPPED
    last, seen = order, time.monotonic()
    while time.monotonic() < min(seen + _QUIET, end):
        newest = intents.filter(at__gt=last).aggregate(at=Max("at"))["at"]
        if newest is not None:
            last, seen = newest, time.monotonic()
        time.sleep(0.05)
    return (last - order).total_seconds()


def stopped(on: Stage, agent: str, samples: int) -> list[float]:
    """Stop an agent that acts without a pause, over and over. Seconds from each order to the last intent after it."""
    _worker(on, "busy", _BUSY)
    on.start(SWEEPER)
    refs = list(Run.objects.filter(pk__in=_started(agent, _BUSY)).values_list("ref", flat=True))
    intents = LedgerEvent.objects.filter(run_ref__in=refs, kind=EventKind.INTENT.value)
    found = []
    for _ in range(samples):
        acting = intents.filter(at__gt=clock.db_now())
        _until(acting.exists, "an intent", on)
        order = stops.order("agent", agent, actor="promptness", reason="to see how soon")
        found.append(_last_after(order.at, intents))
        stops.lift(order.pk, actor="promptness", reason="seen")
    on.close()
    return found
