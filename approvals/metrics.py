"""The installation's figures in Prometheus' text format 0.0.4, written by hand: it is a line a number.

The client library would bring counters that live in one process, and the numbers here stand in the database, the same
for every process. So nothing is kept between two scrapes.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime

from django.db.models import Count

from approvals import catalogue
from approvals.models import Gate
from approvals.queries import doubts, pages, readings, runs
from approvals.states import LIVE_VALUES
from approvals.versions import versions
from durable.clock import db_now
from durable.models import Run, Wait
from durable.roots import status
from durable.states import ENDING, RunState, WaitKind, WaitState
from durable.vendor_statements import status as statements

log = logging.getLogger(__name__)

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_COUNTED = f"Counts stop at {pages.COUNTED + 1}, which stands for more."
#: States in which a run is on its way: of ended ones there is no bound.
_ON_THE_WAY = [RunState.QUEUED, RunState.RUNNING, RunState.SUSPENDED, *sorted(ENDING)]

Sample = tuple[Mapping[str, str], float]


def text() -> str:
    """Everything that can be read now. A part that fails is left out and named by `interlock_part_failed`."""
    now = db_now()
    lines: list[str] = []
    failed: list[Sample] = []
    for name, part in _PARTS.items():
        try:
            found = [line for metric in part(now) for line in _lines(*metric)]
        except Exception as error:  # one part that is away must not hide the others
            log.warning("no metrics of %s: %s: %s", name, type(error).__name__, error)
            found = []
        failed.append(({"part": name}, float(not found)))
        lines += found
    lines += _lines("interlock_part_failed", "Whether a part could not be read.", failed)
    return "\n".join(lines) + "\n"


Metric = tuple[str, str, list[Sample]]


def _work(now: datetime) -> Iterator[Metric]:
    work = readings.work(now)
    yield _one("interlock_runs_due", f"Runs that wait for a worker. {_COUNTED}", work.due)
    yield _one(
        "interlock_runs_due_oldest_seconds", "How long the first of them has waited.", _age(work.oldest, now)
    )
    yield _one("interlock_leases_held", f"Runs that a worker holds. {_COUNTED}", work.held)
    yield _one(
        "interlock_leases_run_out",
        f"Runs whose worker was lost and that nobody has taken over. {_COUNTED}",
        work.lost,
    )
    yield _one(
        "interlock_last_claim_age_seconds",
        "Since a worker has taken a run; -1 for never.",
        _age(work.claimed, now, -1),
    )
    yield _one(
        "interlock_sweeper_lag_seconds",
        "How long the oldest thing has lain that the sweeper finds.",
        work.lag(now).total_seconds(),
    )


def _runs(now: datetime) -> Iterator[Metric]:
    lists = [Run.objects.filter(state=state.value) for state in _ON_THE_WAY]
    *numbers, stuck, doubt = pages.counts([*lists, runs.filtered(runs.STUCK, ""), doubts.in_doubt()])
    samples: list[Sample] = [
        ({"state": state.value}, number) for state, number in zip(_ON_THE_WAY, numbers, strict=True)
    ]
    yield "interlock_runs", f"Runs on their way, by state. {_COUNTED}", samples
    yield _one("interlock_runs_stuck", f"Runs that need a person. {_COUNTED}", stuck)
    reasons = Wait.objects.filter(kind=WaitKind.ATTENTION.value, state=WaitState.OPEN.value)
    found = reasons.order_by("name").values_list("name").annotate(Count("id"))
    yield (
        "interlock_attention",
        "Open waits for a person's attention, by reason.",
        [({"reason": n}, c) for n, c in found],
    )
    yield _one(
        "interlock_effects_in_doubt",
        f"Effects of which nobody knows whether they happened. {_COUNTED}",
        doubt,
    )


def _gates(now: datetime) -> Iterator[Metric]:
    live = Gate.objects.filter(state__in=LIVE_VALUES)
    soonest = live.order_by("decide_by").values_list("decide_by", flat=True).first()
    yield _one("interlock_gates_waiting", f"Gates that wait for people. {_COUNTED}", pages.count(live))
    left = (soonest - now).total_seconds() if soonest else -1
    yield _one(
        "interlock_gates_next_deadline_seconds",
        "Until the next of them is refused by itself; -1 for none.",
        left,
    )


def _broker(now: datetime) -> Iterator[Metric]:
    samples: list[Sample] = [({"queue": name}, depth) for name, depth in readings.depths().items()]
    yield "interlock_broker_messages", "Messages that lie in a queue.", samples


def _evidence(now: datetime) -> Iterator[Metric]:
    found = status.read()
    yield _one(
        "interlock_roots_behind_seconds",
        "How long the oldest event has waited for a signed root.",
        _age(found.waiting, now),
    )
    yield _one("interlock_unproven_events", f"Events that no root outside covers. {_COUNTED}", found.open)
    failing: list[Sample] = [
        ({"anchor": name}, _age(one.failing_since, now)) for name, one in found.anchors.items()
    ]
    yield (
        "interlock_anchor_failing_seconds",
        "For how long an anchor has kept no root; 0 when it works.",
        failing,
    )


def _statements(now: datetime) -> Iterator[Metric]:
    catalogue.load()
    found = statements.read()
    yield _one(
        "interlock_statement_differences_unexplained",
        f"Rows in which a vendor's account and the ledger differ, and nobody has said why. {_COUNTED}",
        found.unexplained,
    )
    ages: list[Sample] = [
        ({"vendor": one.vendor, "account": one.account}, _age(one.end, now, -1)) for one in found.newest
    ]
    yield (
        "interlock_statement_age_seconds",
        "Since the end of the newest period of which a vendor's account was held against the ledger; -1 for never.",
        ages,
    )
    yield _one(
        "interlock_statements_failing", "Statements that could not be made so far.", len(found.failing)
    )


def _database(now: datetime) -> Iterator[Metric]:
    found = readings.database(tables=10)
    yield _one("interlock_database_bytes", "Size of the database.", found.size)
    yield _one("interlock_database_sessions", "Sessions that are open.", found.sessions)
    yield _one("interlock_database_sessions_most", "Sessions that the server allows.", found.most)
    sizes: list[Sample] = [({"table": name}, size) for name, size, _ in found.tables]
    yield "interlock_table_bytes", "Size of the ten largest tables, with their indexes.", sizes
    built = {name.lower(): value for name, value in versions().items()} | {"postgresql": found.version}
    yield "interlock_build_info", "Versions.", [(built, 1)]


_PARTS: dict[str, Callable[[datetime], Iterator[Metric]]] = {
    "work": _work,
    "runs": _runs,
    "gates": _gates,
    "broker": _broker,
    "database": _database,
    "evidence": _evidence,
    "statements": _statements,
}


def _one(name: str, told: str, value: float) -> Metric:
    return name, told, [({}, value)]


def _age(moment: datetime | None, now: datetime, never: float = 0) -> float:
    return max((now - moment).total_seconds(), 0) if moment else never


def _lines(name: str, told: str, samples: list[Sample]) -> Iterator[str]:
    yield f"# HELP {name} {_escaped(told, quoted=False)}"
    yield f"# TYPE {name} gauge"
    for labels, value in samples:
        inside = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels.items())
        yield f"{name}{{{inside}}} {value:.15g}" if inside else f"{name} {value:.15g}"


def _escaped(text: str, *, quoted: bool = True) -> str:
    text = text.replace("\\", "\\\\").replace("\n", "\\n")
    return text.replace('"', '\\"') if quoted else text
