"""A pytest plugin that has everything ready once, and then either maps tests to lines or tries changes in forks.

`-p proof.mutants.lines.session`, with a task's file in the environment. What it finds goes to the task's own file, one
line of JSON each, so that nothing is lost when it is stopped.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from proof.mutants.lines.change import ROOT
from proof.mutants.lines.constants import PACKAGES
from proof.mutants.lines.trying import Trier

#: In the environment: the file that says what is to be done.
TASK = "INTERLOCK_MUTANTS_TASK"


@dataclass(eq=False)
class Watcher:
    """Hears how the tests of this process end: seconds by test, and which failed."""

    seconds: dict[str, float] = field(default_factory=dict)
    failed: list[str] = field(default_factory=list)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.seconds[report.nodeid] = self.seconds.get(report.nodeid, 0.0) + report.duration
        if report.failed:
            self.failed.append(report.nodeid)


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool:
    task = json.loads(Path(os.environ[TASK]).read_text())
    watcher = Watcher()
    session.config.pluginmanager.register(watcher)
    if task["what"] == "map":
        found = _map(session.items[task["part"] :: task["parts"]], watcher)
        Path(task["into"]).write_text(json.dumps(found))
    else:
        Trier(session.items, watcher.failed, task).run()
    return True


def _map(items: list[pytest.Item], watcher: Watcher) -> dict[str, Any]:
    """Run tests one by one; return seconds by test, the tests that run each line, and those that fail unbroken."""
    import coverage

    cov = coverage.Coverage(data_file=None, config_file=False, source_pkgs=list(PACKAGES))
    cov.set_option("run:disable_warnings", ["module-not-measured", "already-imported"])
    cov.start()
    for n, item in enumerate(items):
        cov.switch_context(item.nodeid)
        item.ihook.pytest_runtest_protocol(item=item, nextitem=items[n + 1] if n + 1 < len(items) else None)
    cov.stop()
    data = cov.get_data()
    lines = {
        str(Path(path).relative_to(ROOT)): {
            line: [name for name in names if name] for line, names in data.contexts_by_lineno(path).items()
        }
        for path in data.measured_files()
    }
    return {"seconds": watcher.seconds, "failed": watcher.failed, "lines": lines}
