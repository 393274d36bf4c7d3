"""The whole run: which changes, which tests reach them, two processes that try them, and what is said at the end."""

from __future__ import annotations

import hashlib
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from proof.mutants.lines import constants
from proof.mutants.lines.change import ROOT, Change, Source
from proof.mutants.lines.finding import changes
from proof.mutants.lines.session import TASK
from proof.report import Say

#: What decides whether an effect leaves, and what is made of its answer.
MODULES = (
    "durable/ledger",
    "durable/reconcile.py",
    "durable/claims.py",
    "durable/compensation.py",
    "durable/transitions",
    "durable/protocol.py",
    "durable/rounds.py",
    "durable/gatekeeper.py",
    "approvals/decisions.py",
    "approvals/gatekeeper.py",
    "approvals/policy.py",
)
#: The tests that run for a change, where they reach it: those of the engine and of decisions that run in one process.
TESTS = (
    "tests/durable/test_moves.py",
    "tests/durable/test_proposals.py",
    "tests/engine",
    *(f"tests/approvals/test_{name}.py" for name in ("gatekeeper", "decisions", "decision_races")),
    *(f"tests/approvals/test_{name}.py" for name in ("four_eyes", "verdicts", "commands", "kept")),
)
#: About other modules, or far slower than what else reaches the same lines.
LEFT_OUT = (
    "tests/engine/test_answers_unheard.py",
    "tests/engine/test_bad_start.py",
    "tests/engine/test_cost.py",
    "tests/engine/test_draining.py",
    "tests/engine/test_leases_bounded.py",
    "tests/engine/test_ledger_guards.py",
    "tests/engine/test_loops.py",
    "tests/engine/test_protocol_crashes.py",
    "tests/engine/test_resume_other_code.py",
    "tests/engine/test_restored_workers.py",
    "tests/engine/test_retention.py",
    "tests/engine/test_retention_batches.py",
    "tests/engine/test_stand_in.py",
    "tests/engine/test_stateful.py",
    "tests/engine/test_steering.py",
    "tests/engine/test_strays.py",
    "tests/engine/test_sweeper_robust.py",
    "tests/engine/test_vendor_silent.py",
)
PROCESSES = 2
NOTICED = ("noticed", "timed out")
RESULTS = "results.jsonl"
HOW = (*NOTICED, "survived", "not reached", "untried")


def prove_lines(
    say: Say,
    *,
    modules: Sequence[str] = (),
    seconds: float = 3600.0,
    seed: int = 1,
    most: float = 20.0,
    folder: Path | None = None,
) -> bool:
    """Break the lines of modules (paths; all of `MODULES` if none), in an order that `seed` gives, until time is over.

    `most` seconds of tests, as long as they took unbroken, run for one change. `folder` keeps the map of tests and the
    results: what it has noticed already is not tried again, so a run can go on where another ended. Returns whether the
    tests passed unbroken and a change was tried.
    """
    with tempfile.TemporaryDirectory(prefix="interlock-lines-") as scratch:
        kept = folder or Path(scratch)
        kept.mkdir(parents=True, exist_ok=True)
        made = [one for path in _files(modules or MODULES) for one in changes(Source(path))]
        mapped = _mapped(kept, sorted({one.path for one in made}), say)
        if mapped["failed"]:
            say(f"failed before anything was broken: {', '.join(mapped['failed'])}")
            return False
        book = Book(kept / RESULTS)
        order = random.Random(seed).sample(made, len(made))  # the same however much is known of it already
        left = [one for one in order if book.how(one) not in NOTICED]
        say(f"{len(made)} changes, {len(left)} of them to be tried; {len(mapped['seconds'])} tests")
        _try(kept, left, mapped, time.time() + seconds, most)
        book.read()
    for line in _told(made, book):
        say(line)
    return bool(book.known)


class Book:
    """What is known of each change: how it ended, by which test, after how many."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self.known: dict[Change, dict[str, Any]] = {}
        self.read()

    def read(self) -> None:
        """Read what the processes have written since; what was tried twice counts as it ended last."""
        for result in map(json.loads, self._file.read_text().splitlines() if self._file.exists() else ()):
            self.known[Change.read(result["change"])] = result

    def how(self, change: Change) -> str:
        """One of `HOW`, or nothing for a change that was not tried."""
        return str(self.known[change]["how"]) if change in self.known else ""


def _files(modules: Sequence[str]) -> list[str]:
    found: list[str] = []
    for name in modules:
        inside = sorted((ROOT / name).glob("*.py")) if (ROOT / name).is_dir() else [ROOT / name]
        found += [str(path.relative_to(ROOT)) for path in inside]
    return found


def _mapped(kept: Path, paths: Sequence[str], say: Say) -> dict[str, Any]:
    """Seconds of every test, and the tests that run each line of the product; made anew where one of `paths` is."""
    stored = kept / "map.json"
    before = json.loads(stored.read_text())["texts"] if stored.exists() else {}
    if any(before.get(path) != text for path, text in _texts(paths).items()):
        say("running the tests once, unbroken, to see what reaches which line")
        tasks: list[dict[str, Any]] = [
            {"what": "map", "part": n, "parts": PROCESSES, "into": str(kept / f"map-{n}")}
            for n in range(PROCESSES)
        ]
        _run(kept, tasks)
        parts = [json.loads(Path(task["into"]).read_text()) for task in tasks]
        stored.write_text(json.dumps(_merged(parts)))
    found_map: dict[str, Any] = json.loads(stored.read_text())
    return found_map


def _merged(parts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """One map of several; in the lines a test is its place among all, for it is named very often."""
    seconds = {name: spent for part in parts for name, spent in part["seconds"].items()}
    place = {name: n for n, name in enumerate(seconds)}
    lines: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for part in parts:
        for path, found in part["lines"].items():
            for line, tests in found.items():
                lines[path][line] += [place[name] for name in tests if name]
    failed = [name for part in parts for name in part["failed"]]
    return {"seconds": seconds, "failed": failed, "lines": lines, "texts": _texts(_files(MODULES))}


def _texts(paths: Sequence[str]) -> dict[str, str]:
    return {path: hashlib.sha256((ROOT / path).read_bytes()).hexdigest() for path in paths}


def _try(kept: Path, made: list[Change], mapped: dict[str, Any], until: float, most: float) -> None:
    reach = Reach(mapped)
    jobs = [{"change": one.stored(), "tests": sorted(reach.tests(one))} for one in made]
    whole = {"what": "try", "seconds": mapped["seconds"], "most": most, "until": until}
    whole |= {"into": str(kept / RESULTS)}
    _run(kept, [{**whole, "changes": jobs[n::PROCESSES]} for n in range(PROCESSES)])


def _run(kept: Path, tasks: Sequence[dict[str, Any]]) -> None:
    """One pytest for each task, side by side, each with services of its own. Raises RuntimeError where one fails."""
    plugins = ("proof.mutants.lines.session", "no:randomly", "no:cacheprovider")
    words = [sys.executable, "-m", "pytest", "-q", *(f"-p{name}" for name in plugins), *TESTS]
    words += [f"--ignore={path}" for path in LEFT_OUT]
    running = []
    for n, task in enumerate(tasks):
        file = kept / f"task-{n}.json"
        file.write_text(json.dumps(task))
        with open(kept / f"{task['what']}-{n}.log", "w") as log:
            told = {**os.environ, TASK: str(file)}
            running.append(subprocess.Popen(words, cwd=ROOT, env=told, stdout=log, stderr=log))
    codes = [one.wait() for one in running]
    if any(code not in (0, 1) for code in codes):
        log_text = (kept / f"{tasks[0]['what']}-0.log").read_text()
        raise RuntimeError(f"pytest ended with {codes}: {log_text[-2000:]}")


class Reach:
    """Which tests can notice a change, from the lines that they run."""

    def __init__(self, mapped: dict[str, Any]) -> None:
        self._lines = mapped["lines"]
        self._names = list(mapped["seconds"])

    def tests(self, change: Change) -> set[str]:
        if change.names:
            names = sorted(constants.following(change.names))
            return {test for path, line in _saying(names) for test in self._at(path, line, line)}
        return self._at(change.path, *change.lines)

    def _at(self, path: str, first: int, last: int) -> set[str]:
        run = self._lines.get(path, {})
        return {self._names[test] for line in range(first, last + 1) for test in run.get(str(line), ())}


def _saying(names: Sequence[str]) -> Iterator[tuple[str, int]]:
    """The lines of the product that say one of the names."""
    said = re.compile(rf"\b({'|'.join(map(re.escape, names))})\b")
    for package in constants.PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            for n, line in enumerate(path.read_text().splitlines(), 1):
                if said.search(line):
                    yield str(path.relative_to(ROOT)), n


def _told(made: list[Change], book: Book) -> Iterator[str]:
    """What is said at the end: a table by module, then each change that no test noticed."""
    yield f"{'module':<32}{'made':>7}" + "".join(f"{how:>13}" for how in HOW)
    for path in (*dict.fromkeys(one.path for one in made), ""):
        counts = Counter(book.how(one) for one in made if path in ("", one.path))
        yield f"{path or 'all':<32}{counts.total():>7}" + "".join(f"{counts[how]:>13}" for how in HOW)
    yield f"share tried: {sum(one in book.known for one in made) / max(len(made), 1):.0%}"
    for one in sorted(made, key=lambda one: (one.path, one.start)):
        if book.how(one) not in (*NOTICED, ""):
            result = book.known[one]
            some = (
                f" ({result['tried']} of {result['reach']} tests)"
                if result["tried"] < result["reach"]
                else ""
            )
            yield f"{result['how']}{some}: {one.told()}"
