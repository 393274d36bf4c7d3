"""The benchmark runs from end to end, reports nothing about work that was not done, and counts a ratio as it says."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.approvals import matrix
from tests.approvals.addresses import names
from tests.bench import kit, paging, peers
from tests.bench.chart import chart
from tests.bench.measures import MEASURES
from tests.bench.report import lines, table

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.process
def test_a_quick_run_fills_a_row_for_the_limit_and_for_the_engine(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "tests.bench", "effects", "--reps", "1", "--out", str(tmp_path)]
    env = {name: value for name, value in os.environ.items() if name != "DATABASE_URL"}
    ended = subprocess.run(
        words, cwd=ROOT, env={**env, "BENCH_QUICK": "1"}, capture_output=True, text=True, timeout=120
    )

    assert ended.returncode == 0, ended.stderr
    taken = json.loads((tmp_path / "figures.json").read_text())["taken"]["effects"]
    assert all(taken[column]["a step each"][0] > 0 for column in ("limit", "fenced", "ours"))
    assert ended.stdout == (tmp_path / "table.md").read_text() + "\n"


def test_work_that_is_not_in_the_database_gives_no_figure() -> None:
    with pytest.raises(SystemExit, match="199 are there where 200 should be"):
        kit.done(199, 200, "steps")


def test_a_ratio_is_of_medians_and_to_the_limit_s_own_figure() -> None:
    taken = {
        "steps": {
            "limit": {"one run": [90.0, 100.0, 500.0]},
            "ours": {"one run": [40.0, 50.0, 60.0], "one run, async": [120.0]},
        }
    }
    ratios = {line.row.figure: line.cells["ours"].ratio for line in lines(taken)}

    assert ratios == {"one run": 0.5, "one run, async": 1.2}
    assert "| one run | steps/s | 100 (90 to 500) **1.00** | 50 (40 to 60) **0.50** |" in table(
        taken, ["limit", "ours"], ""
    )


def test_a_bar_is_the_longer_the_worse_whether_more_or_less_is_better() -> None:
    taken = {
        "steps": {"limit": {"one run": [100.0]}, "ours": {"one run": [10.0]}},
        "resume": {"limit": {"10 steps": [2.0]}, "ours": {"10 steps": [20.0]}},
    }
    bars = [
        float(bar.attrib["width"])
        for bar in ElementTree.fromstring(chart(taken, ["limit", "ours"])).iter(
            "{http://www.w3.org/2000/svg}rect"
        )
        if bar.attrib["height"] == "8"
    ]

    assert len(bars) == 2
    assert bars[0] == bars[1] > 100


def test_every_measure_is_made_by_the_engine_and_every_column_s_module_is_a_measure() -> None:
    modules = {measure.module or name for name, measure in MEASURES.items()}

    assert modules == {name for name in modules if (peers.HERE / "ours" / f"{name}.py").exists()}
    assert peers.known() == ["absurd", "dbos", "langgraph"]


def test_every_page_that_can_be_looked_at_is_measured() -> None:
    acts = set(matrix.POSTS)

    assert sorted(set(names()) - acts) == sorted({*paging.ASKED, *paging.ELSEWHERE})
