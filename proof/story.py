"""The story of four refunds, on real processes: a worker killed at the worst moment, and another that makes it good.

Four refunds; SIGKILL after the vendor has acted on the third and before its outcome is recorded. Another worker
resumes, asks the vendor, adopts the receipt, goes on. Then the same crash at a vendor that ignores idempotency keys,
with the look-up taken out of reconciling, and with it.
"""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Callable
from decimal import Decimal

from durable import runs
from durable.errors import InterlockError
from durable.models import LedgerEvent, Run
from durable.states import ENDED, EventKind, RunState
from local.vendor import Vendor
from proof import drive, four_refunds, telling, worker
from proof.stage import SWEEPER, Stage, stage

RUN = "run-4711"
AMOUNTS = [Decimal(10), Decimal(25), Decimal(40), Decimal(5)]
THIRD = Decimal(40)
#: The worst moment: the vendor has acted, the outcome is not recorded.
WORST = "vendor.after_call"
_PATIENCE = 60.0
_SETTINGS = {"INTERLOCK_AGENTS": "proof.four_refunds", "LEASE_SECONDS": "2", "SWEEP_SECONDS": "0.2"}

Say = Callable[[str], object]


class Wrong(Exception):
    """Something is not as the story says. The message says what."""


def tell(say: Say) -> int:
    """Play the story and print it line by line. Returns 1 if a number is off, else 0."""
    if Run.objects.filter(ref=RUN).exists():
        say(f"{RUN} is in this database already: unset DATABASE_URL, and the story brings its own")
        return 1
    with stage(**_SETTINGS) as on:
        try:
            vendor = on.start_vendor()
            wrong = _crash_and_resume(on, vendor, say) + _without_keys(on, vendor, say)
        except (Wrong, InterlockError, RuntimeError) as error:
            wrong = [str(error)]
            say(on.said())
    for sentence in wrong:
        say(f"NOT AS IT SHOULD BE: {sentence}")
    return 1 if wrong else 0


def _crash_and_resume(on: Stage, vendor: Vendor, say: Say) -> list[str]:
    """The run of four refunds, its crash and its resume. Returns what is wrong."""
    charge = vendor.charge("80.00", "EUR")
    run = runs.start(
        four_refunds.FourRefunds.name, {"order": "8812", "charge": charge}, actor="the story", ref=RUN
    )
    first = on.start(worker.command("runs", "first", die=f"{WORST}:3"))
    sweeper = on.start(SWEEPER)
    _must_be_killed(first)
    second = on.start(worker.command("runs", "second"))
    _wait(lambda: _ended(run), f"{RUN} to end")
    for child in (second, sweeper):
        on.stop(child)
    book = vendor.book()
    moved, ledger = telling.moved(book, charge), telling.ledger_total(run)
    for line in telling.lines(run, book):
        say(line)
    say(f"\npayments that actually moved: {telling.plain(moved)}")
    say(
        f"total moved: {sum(moved, Decimal(0)).normalize():f}   ledger total: {ledger.normalize():f}   "
        f"steps done: {telling.steps_done(run)}"
    )
    return [
        *_differs("moved", moved, AMOUNTS),
        *_differs("ledger total", ledger, sum(AMOUNTS)),
        *_differs("state", run.state, RunState.COMPLETED.value),
        *_differs("adopted", _adopted(run), [f"{RUN}:s3"]),
    ]


def _without_keys(on: Stage, vendor: Vendor, say: Say) -> list[str]:
    """The same crash at a vendor that ignores keys: two runs side by side, one of them resumed without its look-up."""
    vendor.modes(keys="ignore")
    cases = {"lookup.skip": [THIRD, THIRD], "": [THIRD]}
    runs_of, charges = {}, {}
    for order, guard in enumerate(cases, 8813):
        charges[guard] = vendor.charge("80.00", "EUR")
        paid = {"order": str(order), "charge": charges[guard]}
        runs_of[guard] = runs.start(four_refunds.ThirdAlone.name, paid, actor="the story")
    for child in [on.start(drive.command(runs_of[guard].ref, die=WORST)) for guard in cases]:
        _must_be_killed(child)
    for guard, child in [(g, on.start(drive.command(runs_of[g].ref, without=g))) for g in cases]:
        if child.wait(_PATIENCE) != 0 or not _ended(runs_of[guard]):
            raise Wrong(f"{runs_of[guard].ref} did not end")
    book = vendor.book()
    found = {guard: telling.moved(book, charges[guard]) for guard in cases}
    say(f"without idempotency the same resume moves: {telling.plain(found['lookup.skip'])}")
    say(f"the same, once it looks before it repeats: {telling.plain(found[''])}")
    return [one for guard in cases for one in _differs("moved without keys", found[guard], cases[guard])]


def _must_be_killed(child: subprocess.Popen[bytes]) -> None:
    code = child.wait(_PATIENCE)
    if code != -signal.SIGKILL:
        raise Wrong(f"a process that was to be killed ended with {code}")


def _ended(run: Run) -> bool:
    run.refresh_from_db()
    return run.state in ENDED


def _adopted(run: Run) -> list[str]:
    events = LedgerEvent.objects.filter(run_ref=run.ref, kind=EventKind.ADOPTED.value)
    return list(events.values_list("effect_key", flat=True))


def _differs(what: str, found: object, wanted: object) -> list[str]:
    return [] if found == wanted else [f"{what} is {found}, not {wanted}"]


def _wait(ready: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + _PATIENCE
    while not ready():
        if time.monotonic() > end:
            raise Wrong(f"waited {_PATIENCE:g} seconds for {what}")
        time.sleep(0.05)
