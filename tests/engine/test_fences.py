"""Between a legal hold and whoever deletes one comes first, whole; real connections, on either side of each commit."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from threading import Thread
from typing import Any

import pytest
from django.db import connection

from durable import concerned, erasing, erasure_orders, faults, holds, retention
from durable.concerned import Called
from durable.errors import InterlockError
from durable.models import Checkpoint, Erasure, LedgerEvent, Run, SealKey, Subject
from durable.retention import going, terms
from durable.retention.terms import Terms
from durable.states import EraseReason
from tests.engine import desk
from tests.engine.rooted import aged
from tests.together import at_once, somebody_waits
from tests.vendors import Vendor

pytestmark = pytest.mark.django_db(transaction=True)
WHO: dict[str, Any] = {"actor": "rita", "reason": "a claim"}
ORDER = Called("order", "quixano-8812")


@pytest.fixture
def run(vendor: Vendor) -> Run:
    """A run about an order, ended a month ago; the policy keeps it for ten days."""
    terms.change(Terms(checkpoints=10, frozen=10, payloads=10), seen=terms.policy().pk, **WHO)
    desk.order(vendor, name=ORDER.text)
    made = desk.drive(desk.start(ORDER.text))
    assert desk.effects(made) == {"pay": "applied"}
    desk.time_passes(days=30)
    return made


@pytest.fixture(autouse=True)
def alone(settings: Any) -> None:
    """One person may have somebody erased: that it takes two has tests of its own."""
    settings.ERASE_ALONE_LIMIT = 100


def erasure() -> Erasure:
    seen = concerned.find([ORDER]).seen
    return erasure_orders.ask([ORDER], actor="ada", seen=seen, reason=EraseReason.ASKED.value, others="erase")


class Other:
    """Somebody on a connection of their own, who begins at a point of this process and is seen to wait there."""

    def __init__(self, point: str, act: Callable[[], Any]) -> None:
        self.waited = False
        self._act = act
        self._thread = Thread(target=self._do)
        faults.arm(point, self._begin)

    def _begin(self) -> None:
        self._thread.start()
        desk.until(lambda: somebody_waits() or not self._thread.is_alive())
        self.waited = self._thread.is_alive()

    def _do(self) -> None:
        try:
            self._act()
        finally:
            connection.close()

    def done(self) -> None:
        assert self._thread.ident is not None, "the point was never passed"
        self._thread.join(20)
        assert not self._thread.is_alive()


def hold(scope: str, run: Run) -> Callable[[], Any]:
    subject = Subject.objects.filter(run=run, kind="order").values_list("kind", "hash")[0]
    return {
        "run": lambda: holds.set_on_run(run.ref, **WHO),
        "subject": lambda: holds.set_on_subject(*subject, **WHO),
        "search": lambda: holds.set_on_search(f"key:{run.ref}:", **WHO),
    }[scope]


def goes(how: str) -> tuple[str, Callable[[], Any]]:
    """Somebody who deletes, and the point before their commit."""
    if how == "erasure":
        number = erasure().pk
        return "erase.before_commit", lambda: erasing.carry_on(number)
    if how == "retention":
        return "prune.before_commit", retention.prune
    last = LedgerEvent.objects.latest("pk").pk
    return "prune.before_commit", lambda: going.bite(last)


def kept(run: Run) -> bool:
    """Whether the run has all that any of them would take."""
    sealed = SealKey.objects.filter(run=run, wrapped__isnull=False).exists()
    return sealed and Checkpoint.objects.filter(run=run).count() > 1


@pytest.mark.parametrize("scope", ["run", "subject", "search"])
@pytest.mark.parametrize("how", ["erasure", "retention"])
def test_whoever_deletes_waits_for_a_hold_that_is_being_set_and_then_deletes_nothing(
    run: Run, how: str, scope: str
) -> None:
    _, delete = goes(how)
    other = Other("command.before_commit", delete)
    hold(scope, run)()
    other.done()
    assert other.waited and kept(run)


@pytest.mark.parametrize("how", ["erasure", "retention"])
def test_a_hold_waits_for_whoever_has_begun_to_delete(run: Run, how: str) -> None:
    point, delete = goes(how)
    other = Other(point, hold("run", run))
    delete()
    other.done()
    assert other.waited and not kept(run)


def test_a_hold_waits_for_a_bite_of_the_ledger(run: Run) -> None:
    """What of it the database lets go without a cut is nothing; the bite is undone, and the hold stands after it."""
    retention.prune()
    aged(2_000)
    terms.change(
        Terms(checkpoints=10, frozen=10, messages=20, payloads=10, ledger=400), seen=terms.policy().pk, **WHO
    )
    first = LedgerEvent.objects.earliest("pk").pk
    other = Other("prune.before_commit", hold("run", run))
    going.bite(first - 1)
    other.done()
    assert other.waited


def test_of_a_hold_an_erasure_and_a_pass_at_once_none_deletes_what_was_held_before(
    run: Run, vendor: Vendor
) -> None:
    """Each is in its chain with a number that was drawn under its locks: nothing about the run after the hold's."""
    for turn in range(5):
        name = Called("order", f"order-{turn}-of-many")
        desk.order(vendor, name=name.text)
        one = desk.drive(desk.start(name.text))
        Run.objects.filter(pk=one.pk).update(ended_at=run.ended_at)
        seen = concerned.find([name]).seen
        asked = erasure_orders.ask(
            [name], actor="ada", seen=seen, reason=EraseReason.ASKED.value, others="erase"
        )
        at_once(
            partial(holds.set_on_run, one.ref, **WHO),
            partial(erasing.carry_on, asked.pk),
            retention.prune,
            retention.prune,
            loses=InterlockError,
        )
        held = LedgerEvent.objects.filter(kind="legal hold set", effect_key=one.ref).latest("pk").pk
        went = LedgerEvent.objects.filter(run_ref=one.ref, kind__in=["erased", "pruned"], pk__gt=held)
        assert not went.exists()
        told = set(LedgerEvent.objects.filter(run_ref=one.ref).values_list("kind", flat=True))
        assert ("erased" in told or "pruned" in told) == (not kept(one))
