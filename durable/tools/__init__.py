"""Tools: functions that an agent may call, and the facts that decide how carefully they are called."""

from __future__ import annotations

from durable.tools.decorator import tool
from durable.tools.definition import Tool, Undo
from durable.tools.facts import Facts, Misdeclared
from durable.tools.proposal import Proposal
from durable.tools.registry import all_tools, get, isolated

__all__ = ["Facts", "Misdeclared", "Proposal", "Tool", "Undo", "all_tools", "get", "isolated", "tool"]
