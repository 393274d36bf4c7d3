"""What one person may answer for alone: a verdict by all the money that it moves (`VERDICT_ALONE_LIMIT`), an erasure by
the runs of which nothing readable is left (`ERASE_ALONE_LIMIT`).
"""

from __future__ import annotations

from collections.abc import Mapping

from django.conf import settings

from durable import tools
from durable.digest import normal
from durable.errors import UnknownTool
from durable.ledger.applying import spent
from durable.models import Effect, Run
from durable.money import exponent
from durable.sql import answers
from durable.states import EffectState
from durable.vendor import Receipt

# Applied, no undo itself, and not undone yet.
_AHEAD = """
SELECT e.tool, e.currency, sum(e.amount_minor) FROM durable_effect e
WHERE e.run_id = %(run)s AND e.state = %(applied)s AND e.undo_of_id IS NULL AND e.amount_minor IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM durable_effect u WHERE u.undo_of_id = e.id AND u.state = %(applied)s)
GROUP BY 1, 2
"""


def needs_second(effect: Effect, receipt: Receipt | None = None, *, undoing: bool = False) -> bool:
    """Whether a verdict on an effect in doubt needs a second person: it moves more than one may answer for alone, by
    what was asked or by the `receipt` that is to prove it; with `undoing`, by all that is undone with it.
    """
    moved = _moved(effect, receipt)
    if undoing:
        for currency, minor in undone(effect.run).items():
            moved[currency] = moved.get(currency, 0) + minor
    return too_much(moved)


def too_much(moved: Mapping[str, int]) -> bool:
    """Whether these sums, in minor units by currency, are more than one person may answer for alone."""
    return any(
        minor > settings.VERDICT_ALONE_LIMIT * 10 ** exponent(currency) for currency, minor in moved.items()
    )


def too_many(runs: int) -> bool:
    """Whether an erasure of so many runs is more than one person may answer for alone."""
    return runs > settings.ERASE_ALONE_LIMIT


def same_person(first: str, second: str) -> bool:
    """Whether two actors are one person by name: a shell takes any spelling, and letter case makes nobody else."""
    return normal(first) == normal(second)


def undone(run: Run) -> dict[str, int]:
    """What a run's way back would move now, in minor units by currency."""
    sums: dict[str, int] = {}
    for tool, currency, minor in answers(_AHEAD, {"run": run.pk, "applied": EffectState.APPLIED.value}):
        if can_be_undone(tool):
            sums[currency] = sums.get(currency, 0) + int(minor)
    return sums


def _moved(effect: Effect, receipt: Receipt | None) -> dict[str, int]:
    if effect.amount_minor is None:
        return {}
    proven = None if receipt is None else spent(effect, receipt)
    return {effect.currency: max(effect.amount_minor, proven or 0)}


def can_be_undone(tool: str) -> bool:
    """Whether the code registers an undo for it; one that is not known now may come back with one."""
    try:
        return tools.get(tool).undo_act is not None
    except UnknownTool:
        return True
