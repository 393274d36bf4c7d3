"""The way back, in sentences: which effects would be undone, by what, in which order, and which can't be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from approvals.queries import words
from approvals.queries.tally import Some
from durable import tools
from durable.errors import InterlockError


def name(row: Mapping[str, Any]) -> str:
    """An effect in a few words, with the step that asked: `Refund 10.00 EUR (pay)`."""
    title = words.title(row["tool"], row["amount_minor"], row["currency"], undo=row["undo_of_id"] is not None)
    return f"{title} ({row['step']})"


def way_back(applied: Some) -> list[str]:
    """The first of them one by one, the last applied first; where there are more, all of them counted by tool."""
    lines = [f"{place}. {_undo(row)}" for place, row in enumerate(applied.rows, start=1)]
    if applied.more:
        lines.append(f"And {applied.more:,} more, further back. Of all {applied.count:,}:")
        lines += [f"{count:,} {_how(tool)}." for tool, count in sorted(applied.tools.items())]
    return lines


def with_one_more(first: dict[str, Any], applied: Some) -> Some:
    """The same with an effect that will have been applied last, and so is undone first."""
    tools_of = {**applied.tools, first["tool"]: applied.tools.get(first["tool"], 0) + 1}
    return replace(applied, count=applied.count + 1, tools=tools_of, rows=[first, *applied.rows])


def _undo(row: Mapping[str, Any]) -> str:
    try:
        act = tools.get(row["tool"]).undo_act
    except InterlockError:
        return f"Can't be undone now, its tool is not known any more: {name(row)}."
    if act is None:
        return f"Can't be undone: {name(row)}."
    gated = "; people are asked first" if act.effect_class == "irreversible" else ""
    rest = f"; not if the undo of {' or '.join(act.depends_on)} fails" if act.depends_on else ""
    return f"Undone: {name(row)}, by {act.name}{gated}{rest}."


def _how(tool: str) -> str:
    """What becomes of all effects of a tool, after their number."""
    try:
        act = tools.get(tool).undo_act
    except InterlockError:
        return f"of {tool} can't be undone now, the tool is not known any more"
    if act is None:
        return f"of {tool} can't be undone"
    asked = ", each once people have been asked" if act.effect_class == "irreversible" else ""
    return f"of {tool} undone by {act.name}{asked}"
