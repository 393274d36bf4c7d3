"""Chaos from its beginning to its end: break the world, heal it, read its history, and judge."""

from __future__ import annotations

import contextlib
import random
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from local.vendor import VendorAway
from proof.chaos import crowd, history, marks, notes
from proof.chaos.history import History
from proof.chaos.kinds import KINDS, Kind, named
from proof.chaos.moved import moved_once
from proof.chaos.nemesis import Nemesis, Strike
from proof.chaos.oracles import ORACLES
from proof.chaos.sight import Onlooker
from proof.chaos.world import POSTS, World, world
from proof.report import Row, Say

#: Seconds within which everything must have come to its end once nothing fails any more.
HEAL = 90.0
#: Seconds between two customers.
PACE = 0.35
#: The suite's few: a kind of each sort.
FEW = named(
    "pool child killed", "worker stopped", "database killed", "broker emptied", "vendor: acts and drops"
)


@dataclass(frozen=True)
class Told:
    """A run of chaos that is over: what the nemesis did, what is left, how long the healing took, and which
    parts of the product ended without having been struck.
    """

    strikes: list[Strike]
    history: History
    healed_in: float
    died: tuple[str, ...] = ()


def prove(
    say: Say,
    *,
    seconds: float,
    seed: int,
    kinds: tuple[Kind, ...] = KINDS,
    short: bool = False,
    control: bool = True,
    keep: Path | None = None,
) -> list[Row]:
    """Break everything for `seconds`, heal, and judge the history: a row an oracle, one for the nemesis, one for the
    control.

    It brings its own services. `short` asks for fewer marks; `keep` is a folder for history and log.
    """
    began = time.monotonic()
    told = play(say, seconds=seconds, seed=seed, kinds=kinds, keep=keep)
    again = f"python -m proof.chaos --seconds {seconds:g} --seed {seed}"
    rows = judge(told.history, again)
    seen = marks.of(told.history)
    wrong = marks.too_little(seen, told.strikes, [kind.name for kind in kinds], short=short)
    remark = f"seed {seed}; {seen.words()}; healed in {told.healed_in:.0f} s; {marks.words(told.strikes)}"
    wrong += told.died
    took = time.monotonic() - began
    rows.append(Row("chaos: faults that struck", len(told.strikes), tuple(wrong), took, remark, again))
    return [*rows, check_the_check(say, seed)] if control else rows


def judge(found: History, again: str = "") -> list[Row]:
    """One row an oracle."""
    rows = []
    for name, oracle in ORACLES.items():
        finding = oracle(found)
        rows.append(Row(f"chaos: {name}", finding.tried, tuple(finding.wrong), again=again))
    return rows


def check_the_check(say: Say, seed: int) -> Row:
    """The control: with the look-up taken out of the workers, at a vendor that ignores keys, money must move twice.

    A check that does not find that would find nothing.
    """
    began = time.monotonic()
    wrong: list[str] = []
    with world(without="lookup.skip", keys="ignore", parts=("worker-1", "worker-2", "sweeper")) as made:
        crowd_file = made.on.folder / "notes"
        people = made.on.start(crowd.command(made.on.folder, seed, PACE))
        made.behave(*({"kind": "drop", "method": "POST", "path": path, "times": 0} for path in POSTS))

        def twice() -> bool:
            wrong[:] = moved_once(History(book=_book(made), notes=notes.read(crowd_file))).wrong
            return bool(wrong)

        with contextlib.suppress(RuntimeError):
            _until(twice, people, 120, "something to move twice")
        say(made.on.said()[-500:] if not wrong else f"  control: {wrong[0]}")
    remark = f"found, as it must be: {len(wrong)} that moved twice"
    missing = () if wrong else ("the workers ran without their look-up, and the check found nothing",)
    return Row("chaos, control: no look-up", 1, missing, time.monotonic() - began, remark)


def play(
    say: Say,
    *,
    seconds: float,
    seed: int,
    kinds: tuple[Kind, ...] = KINDS,
    keep: Path | None = None,
) -> Told:
    """Play chaos in a world of its own."""
    with world() as made:
        try:
            return _play(made, say, seconds, seed, kinds, keep)
        except Exception:
            say(made.on.said())
            raise
        finally:
            if keep is not None:
                keep.mkdir(parents=True, exist_ok=True)
                (keep / "log").write_bytes((made.on.folder / "log").read_bytes())


def _play(
    made: World, say: Say, seconds: float, seed: int, kinds: tuple[Kind, ...], keep: Path | None
) -> Told:
    folder = made.on.folder
    made.wait_for_web()
    people = made.on.start(crowd.command(folder, seed, PACE))
    eyes = Onlooker(made)
    _until(lambda: eyes.count("approvals_decision") > 0, people, 120, "the first decision")
    nemesis = Nemesis(made, eyes, random.Random(seed), say)
    nemesis.rage(kinds, seconds)
    say(f"  healing: {eyes.left()} runs and waits are open")
    made.heal()
    healed_in = _heal(made, eyes, people)
    say(f"  healed in {healed_in:.0f} s; open are {eyes.left()} runs and waits")
    people.send_signal(signal.SIGTERM)
    with contextlib.suppress(subprocess.TimeoutExpired):
        people.wait(20)
    eyes.close()
    with made.connect() as connection:
        found = history.read(connection, _book(made), made.mails, folder / "notes", sorted(eyes.seen))
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
        (keep / "history.json").write_text(found.dump())
    return Told(nemesis.strikes, found, healed_in, tuple(made.died))


def _heal(made: World, eyes: Onlooker, people: subprocess.Popen[bytes]) -> float:
    """Let everything come to its end, for as long as that may take. Returns the seconds that it took."""
    began = time.monotonic()
    people.send_signal(signal.SIGUSR1)
    calm = 0
    while calm < 4 and time.monotonic() - began < HEAL and people.poll() is None:
        calm = calm + 1 if eyes.left() == 0 else 0
        eyes.remember()
        time.sleep(0.5)
    return time.monotonic() - began


def _book(made: World) -> list[history.Row]:
    for _ in range(20):
        try:
            return made.vendor.book()
        except VendorAway:
            time.sleep(0.5)
    return made.vendor.book()


def _until(ready: Callable[[], bool], people: subprocess.Popen[bytes], seconds: float, what: str) -> None:
    end = time.monotonic() + seconds
    while not ready():
        if people.poll() is not None:
            raise RuntimeError(f"the crowd ended while waiting for {what}")
        if time.monotonic() > end:
            raise RuntimeError(f"waited {seconds:g} seconds for {what}")
        time.sleep(0.2)
