"""The classification table: the two questions, what follows from them, and what each tool has done lately."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.db.models import Aggregate, Count, DurationField, F, Q

from approvals import policy
from approvals.models import Gate
from approvals.queries import words
from approvals.states import Verdict
from approvals.templatetags.interlock import span
from durable.clock import db_now
from durable.models import Effect
from durable.models.fields import Clock
from durable.states import REFUSED, EffectClass, EffectState
from durable.tools import Tool, all_tools

PERIOD = timedelta(days=30)
_DECIDES = [Verdict.APPROVE.value, Verdict.REJECT.value]


class Median(Aggregate):
    """PostgreSQL's median, between the two middle ones where their number is even."""

    function = "PERCENTILE_CONT"
    template = "%(function)s(0.5) WITHIN GROUP (ORDER BY %(expressions)s)"


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
    vendor = words.vendor(tool.facts.vendor)
    kept = tool.facts.freshness
    return {
        "name": tool.name,
        "vendor": vendor[:1].upper() + vendor[1:],
        "reads_only": tool.facts.reads,
        "replay": _answer(replay),
        "replay_note": _note(replay) if not tool.facts.reads else f"kept for {span(kept)}" if kept else "",
        "undo": _answer(undo),
        "undo_note": _note(undo),
        "class_name": str(tool.effect_class),
        "policy": _policy(tool),
        "acts": figures.get("acts", 0),
        "refused": figures.get("refused", 0),
        "doubt": figures.get("doubt", 0),
        "decide": span(decide) if (decide := figures.get("decide")) is not None else "",
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
    """Counts and the median time to a decision, by tool, over the period; two queries."""
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
    waited = (
        Gate.objects.filter(opened_at__gte=Clock() - PERIOD, decisions__verdict__in=_DECIDES)
        .order_by("effect__tool")
        .values_list("effect__tool")
        .annotate(median=Median(F("decisions__at") - F("opened_at"), output_field=DurationField()))
    )
    decide = dict(waited)
    return {row["tool"]: {**row, "decide": decide.get(row["tool"])} for row in rows}
