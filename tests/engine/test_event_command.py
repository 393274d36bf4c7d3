"""`manage.py event`: an outside event from a shell reaches the run that waits for it, once."""

from __future__ import annotations

from pathlib import Path

import pytest

from durable import runs
from durable.models import Run, Signal
from durable.states import RunState
from tests.engine import agents, desk
from tests.engine.rooted import said
from tests.engine.test_waits import listener

pytestmark = pytest.mark.django_db(transaction=True)


def test_an_event_from_a_shell_reaches_the_step_that_waits_and_comes_once(tmp_path: Path) -> None:
    run = desk.drive(listener())
    assert said("event", run.ref, "parcel", "--key", "a", "--body", '{"no": 1}') == (
        0,
        f"{run.ref} has parcel\n",
    )
    assert said("event", run.ref, "parcel", "--key", "a", "--body", '{"no": 1}') == (
        0,
        f"{run.ref} had parcel already; nothing was changed\n",
    )
    desk.drive(run)
    (tmp_path / "body.json").write_text('{"no": 2}')
    said("event", run.ref, "parcel", "--key", "b", "--body", f"@{tmp_path / 'body.json'}")
    assert desk.drive(run).result == {"first": {"no": 1}, "second": {"no": 2}}


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("parcel", "--key", "a", "--body", "{"), "body: must be JSON"),
        (("parcel", "--key", "a", "--body", "@/nowhere/at/all"), "the file /nowhere/at/all can't be read"),
        (("parcel", "--key", ""), "dedupe: must not be empty"),
        (("", "--key", "a"), "name: must not be empty"),
    ],
)
def test_an_event_that_is_none_is_refused_in_words_and_not_kept(words: tuple[str, ...], why: str) -> None:
    code, told = said("event", listener().ref, *words)
    assert code == 2 and why in told
    assert not Signal.objects.exists()


def test_a_run_that_has_ended_or_is_none_takes_no_event() -> None:
    run = agents.start("Looper")
    assert said("event", "run-none", "parcel", "--key", "a")[0] == 2
    runs.cancel(run.ref, actor="olga", reason="enough")
    assert desk.drive(run).state == RunState.CANCELLED
    code, told = said("event", run.ref, "parcel", "--key", "a")
    assert code == 2 and "waits for nothing any more" in told
    assert Run.objects.count() == 1 and not Signal.objects.exists()
