"""The classification table: the two questions, what follows from them, and what each tool has done lately."""

from __future__ import annotations

from collections import Counter
from typing import Any
from urllib.parse import urlencode

from approvals import policy
from approvals.queries import proofs, words
from approvals.queries.proofs import NEWEST, PERIOD, Figures
from approvals.templatetags.interlock import span
from durable.clock import db_now
from durable.states import EffectClass
from durable.tools import Tool, all_tools


def listing(effect_class: str = "") -> dict[str, Any]:
    """All tools, or those of one class. See tool_list.html."""
    tools, now = all_tools(), db_now()
    figures = proofs.figures([tool.name for tool in tools], now)
    shown = [tool for tool in tools if effect_class in ("", str(tool.effect_class))]
    return {
        "tools": [_row(tool, figures.get(tool.name, Figures())) for tool in shown],
        "total": len(tools),
        "filters": _chips(tools, effect_class),
        "filtered": bool(effect_class),
        "period": f"{PERIOD.days} days",
        "newest": NEWEST,
        "now": now,
    }


def _chips(tools: tuple[Tool, ...], chosen: str) -> list[dict[str, Any]]:
    counted = Counter(str(tool.effect_class) for tool in tools)
    return [
        {
            "label": name.capitalize() or "All",
            "query": urlencode({"class": name}) if name else "",
            "count": counted[name] if name else len(tools),
            "current": name == chosen,
        }
        for name in ("", *(one.value for one in EffectClass))
    ]


def _row(tool: Tool, figures: Figures) -> dict[str, Any]:
    replay, undo = tool.replayed_safely, tool.can_be_undone
    vendor = words.vendor(tool.facts.vendor)
    more = "+" if figures.more else ""
    return {
        "name": tool.name,
        "vendor": vendor[:1].upper() + vendor[1:],
        "reads_only": tool.facts.reads,
        "replay": _answer(replay),
        "replay_note": _replay_note(tool),
        "undo": _answer(undo),
        "undo_note": _note(undo).removeprefix("by "),
        "class_name": str(tool.effect_class),
        "policy": policy.told(tool),
        "acts": f"{figures.acts:,}{more}",
        "refused": f"{figures.refused:,}{more}",
        "doubt": f"{figures.doubt:,}{more}" if figures.doubt else "",
        "decide": span(figures.median) if figures.median is not None else "",
        "decided": figures.decided,
        "proofs": figures.proofs,
        "why": tool.why,
    }


def _answer(text: str) -> str:
    """The word before the colon: the sheet's answers are `no`, `n/a`, or `yes: why`."""
    return text.partition(":")[0].strip()


def _note(text: str) -> str:
    return text.partition(":")[2].strip()


def _replay_note(tool: Tool) -> str:
    """How long: the class's own sentence, beside it, says what follows."""
    facts = tool.facts
    if facts.reads:
        return f"kept for {span(facts.freshness)}" if facts.freshness else ""
    if facts.idempotent_for:
        return f"key lives {span(facts.idempotent_for)}"
    return _note(tool.replayed_safely)
