"""A draft and the next one of the same person: what has been started in between is not taken away."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.db.models.signals import pre_delete
from django.urls import reverse

from approvals import bulk
from approvals.models import BulkAct, BulkResult
from durable.models import Run
from durable.states import RunState
from tests import factories
from tests.approvals.bulk_acts import told
from tests.approvals.conftest import SignIn
from tests.approvals.test_run_list import in_state
from tests.engine import desk
from tests.together import PATIENCE, somebody_waits

__all__ = ["told"]

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_start_just_when_a_new_draft_replaces_the_act_does_nothing_and_says_so(sign_in: SignIn) -> None:
    olga = factories.person("olga")
    client, one, other = sign_in(olga), in_state(RunState.QUEUED), in_state(RunState.QUEUED)
    made = bulk.draft(olga, "holds", query=None, refs=[one.ref])
    heard: list[Any] = []
    at_the_lock = threading.Event()

    def watch(execute: Callable[..., Any], sql: str, *more: Any) -> Any:
        if "approvals_bulkact" in sql and "FOR UPDATE" in sql:
            at_the_lock.set()
        return execute(sql, *more)

    def start() -> None:
        try:
            with connection.execute_wrapper(watch):
                heard.append(client.post(reverse("bulk-starts", args=[made.pk]), {"reason": "night shift"}))
        finally:
            connection.close()

    thread = threading.Thread(target=start)

    def meanwhile(instance: object, **_: Any) -> None:
        """The draft is being replaced: somebody starts it, and whoever is not kept from that has the time for it."""
        if isinstance(instance, BulkAct):
            thread.start()
            assert at_the_lock.wait(PATIENCE)
            desk.until(lambda: somebody_waits() or not thread.is_alive())

    pre_delete.connect(meanwhile, sender=BulkAct)
    try:
        bulk.draft(olga, "holds", query=None, refs=[other.ref])
    finally:
        pre_delete.disconnect(meanwhile, sender=BulkAct)
    thread.join(PATIENCE)
    (answer,) = heard
    assert answer.status_code == 409
    assert "only the newest is kept" in answer.context["problem"]
    bulk.carry_on(made.pk)
    assert not Run.objects.get(pk=one.pk).held


def test_a_new_draft_leaves_the_acts_that_were_started() -> None:
    olga, one, other = factories.person("olga"), in_state(RunState.QUEUED), in_state(RunState.QUEUED)
    made = bulk.draft(olga, "holds", query=None, refs=[one.ref])
    bulk.start(olga, made.pk, "night shift")
    bulk.draft(olga, "holds", query=None, refs=[other.ref])
    bulk.carry_on(made.pk)
    assert BulkResult.objects.get(bulk=made).outcome == "done" and Run.objects.get(pk=one.pk).held
