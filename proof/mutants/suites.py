"""The tests that notice when a guard is gone, by what they are about."""

from __future__ import annotations

_E = "tests/engine/"
KEYS, ROWS, WIRE = f"{_E}test_protocol_keys.py", f"{_E}test_protocol_rows.py", f"{_E}test_protocol_wire.py"
ANSWERS, RELEASE, FORKS = (
    f"{_E}test_protocol_answers.py",
    f"{_E}test_protocol_release.py",
    f"{_E}test_protocol_forks.py",
)
VERDICTS, JUDGED, CANCEL = (
    f"{_E}test_verdicts_engine.py",
    f"{_E}test_judged.py",
    f"{_E}test_cancel.py",
)
WAY_BACK, MONEY, ONCE = f"{_E}test_compensation.py", f"{_E}test_money_reserved.py", f"{_E}test_once_per.py"
CLAIMS, LATE = f"{_E}test_claims.py", f"{_E}test_protocol_late.py"
RACES, DECISIONS = "tests/approvals/test_decision_races.py", "tests/approvals/test_decisions.py"
KEEPER = "tests/approvals/test_gatekeeper.py"
CHECKPOINTS, BUDGETS = f"{_E}test_checkpoints.py", f"{_E}test_budget_kept.py"
RESTORE = f"{_E}test_restored.py"
ANSWERED = f"{_E}test_answered_first.py"
