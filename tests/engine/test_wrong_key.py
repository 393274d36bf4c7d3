"""A wrong INTERLOCK_SEAL_KEY: told in words, and no run is claimed, lost or started under it."""

from __future__ import annotations

import io
import logging
import os
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import SystemCheckError
from django.test import Client

from durable import journal, steering, vault
from durable.models import Attempt, Run, SealKey, Wait
from durable.states import Attention, EventKind, RunState
from tests.engine import agents, desk

pytestmark = pytest.mark.django_db(transaction=True)
TOLD = "INTERLOCK_SEAL_KEY does not open what this database holds"


@pytest.fixture
def another_key(settings: Any) -> Any:
    """Give this process another installation's key; called with none, it gives the right one back."""
    right = settings.INTERLOCK_SEAL_KEY

    def give(key: bytes | None = None) -> None:
        settings.INTERLOCK_SEAL_KEY = key or right

    return give


def test_a_worker_with_a_wrong_key_says_so_and_claims_nothing(
    another_key: Any, caplog: pytest.LogCaptureFixture
) -> None:
    run = agents.start("Walker")
    another_key(os.urandom(32))
    with caplog.at_level(logging.ERROR):
        assert desk.drive(run).attempt == 0
    assert TOLD in caplog.text
    assert not Attempt.objects.exists()
    another_key()
    assert desk.drive(run).state == RunState.COMPLETED


def test_nothing_is_started_under_a_wrong_key(another_key: Any) -> None:
    first = agents.start("Looper")
    another_key(os.urandom(32))
    with pytest.raises(vault.WrongKey, match=first.ref):
        agents.start("Looper")
    assert Run.objects.get() == first


def test_a_web_process_with_a_wrong_key_is_not_ready_and_a_check_names_the_setting(
    another_key: Any, client: Client
) -> None:
    agents.start("Looper")
    another_key(os.urandom(32))
    answer = client.get("/readyz")
    assert (answer.status_code, answer.content.decode()[: len(TOLD)]) == (503, TOLD)
    with pytest.raises(SystemCheckError, match=TOLD):
        call_command("check", databases=["default"], stdout=io.StringIO(), stderr=io.StringIO())


def test_one_run_whose_key_does_not_open_waits_for_a_person_and_counts_no_crash(another_key: Any) -> None:
    agents.start("Looper")
    run = agents.start("Walker")
    kept = SealKey.objects.get(run=run)
    SealKey.objects.filter(pk=kept.pk).update(wrapped=os.urandom(60))
    another_key()
    desk.drive(run)
    assert (run.state, run.crashes, run.attempt) == (RunState.SUSPENDED, 0, 1)
    wait = Wait.objects.get(run=run)
    assert wait.name == Attention.CRASH_LOOP
    assert "INTERLOCK_SEAL_KEY" in wait.detail["sentence"]
    assert [event.kind for event in journal.events(run.ref)][-1] == EventKind.ATTENTION
    kept.save()
    steering.retry(run.ref, actor="olga", reason="put right")
    assert desk.drive(run).state == RunState.COMPLETED
