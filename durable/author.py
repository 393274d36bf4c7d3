"""Everything that an agent's author needs, in one place: `from durable.author import Agent, step, tool`."""

from __future__ import annotations

from durable.budget import Budget, days, hours, minutes, seconds
from durable.context import EventTimeout, GiveUp, RunContext, wish
from durable.errors import CannotSay, EffectFailed, EffectRefused, InDoubt, NotSent, VendorRefused
from durable.money import Money
from durable.plan import Agent, Next, step
from durable.tools import tool
from durable.vendor import Absent, Call, Candidates, LookupAnswer, Period, Receipt

__all__ = [
    "Absent",
    "Agent",
    "Budget",
    "Call",
    "Candidates",
    "CannotSay",
    "EffectFailed",
    "EffectRefused",
    "EventTimeout",
    "GiveUp",
    "InDoubt",
    "LookupAnswer",
    "Money",
    "Next",
    "NotSent",
    "Period",
    "Receipt",
    "RunContext",
    "VendorRefused",
    "days",
    "hours",
    "minutes",
    "seconds",
    "step",
    "tool",
    "wish",
]
