"""The classification table: the two questions, what follows from them, and what each tool has done lately."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.db.models import Count, Q

from approvals import policy
from durable.clock import db_now
from durable.models import Effect
from durable.models.fields import Clock
from durable.states import REFUSED, EffectClass, EffectState
from durable.tools import Tool, all_tools

PERIOD = timedelta(days=30)


def listing() -> dict[str, Any]:
    """All tools. See tool_list.html."""
    figures = _figures()
    return {
        "tools": [_row(tool, figures.get(tool.name, {})) for tool in all_tools()],
        "period": f"{PERIOD.days} days",
        "now": db_now(),
    }


def _row(tool: Tool, figures: dict[str, Any]) -> dict[str, Any]:
    replay, undo = tool.replayed_safely, tool.can_be_undone
    return {
        "name": tool.name,
        "vendor": tool.facts.vendor,
        "reads_only": tool.facts.reads,
        "replay": _answer(replay),
        "replay_note": _note(replay),
        "undo": _answer(undo),
        "undo_note": _note(undo),
        "class_name": str(tool.effect_class),
        "policy": _policy(tool),
        "acts": figures.get("acts", 0),
        "refused": figures.get("refused", 0),
        "doubt": figures.get("doubt", 0),
        "decide": "",
        "why": tool.why,
    }


def _answer(text: str) -> str:
    """The word before the colon: the sheet's answers are `no`, `n/a`, or `yes: why`."""
    return text.partition(":")[0].strip()


def _note(text: str) -> str:
    return text.partition(":")[2].strip()


def _policy(tool: Tool) -> str:
    if tool.effect_class is EffectClass.READ:
        return "Nobody: it has no effect."
    if tool.effect_class is EffectClass.IRREVERSIBLE:
        return "A reviewer, every time."
    if tool.facts.money is not None:
        return f"A reviewer, above {policy.LIMIT} in its currency."
    return "Nobody."


def _figures() -> dict[str, dict[str, Any]]:
    """Counts by tool over the period; one query."""
    refused = [state.value for state in REFUSED]
    rows = (
        Effect.objects.filter(recorded_at__gte=Clock() - PERIOD)
        .order_by("tool")
        .values("tool")
        .annotate(
            acts=Count("id", filter=Q(state=EffectState.APPLIED.value)),
            refused=Count("id", filter=Q(state__in=refused)),
            doubt=Count("id", filter=Q(state=EffectState.IN_DOUBT.value)),
        )
    )
    return {row["tool"]: dict(row) for row in rows}
