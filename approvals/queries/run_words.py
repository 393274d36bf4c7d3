"""What may come next in a query of the runs list: whole queries, each one word longer than what was typed."""

from __future__ import annotations

from approvals.queries import finding
from approvals.run_query import AGENT, FROM, KEYS, OLDER, REASONS, REF, STATES, STATUS, SUBJECT, TO
from approvals.typed import quoted

#: More than these are no help.
OFFERED = 24
_AGES = ("30m", "4h", "2d", "7d", "30d")


def suggestions(text: str) -> list[dict[str, str]]:
    """Completions of the last word of `text`, as the whole text would then be, each with what it means."""
    start, _, last = text.rpartition(" ")
    before = f"{start} " if start else ""
    key, colon, value = last.lower().partition(":")
    if colon:
        found = [(f"{key}:{word}", means) for word, means in _values(key) if word.lower().startswith(value)]
    else:
        taken = {word.partition(":")[0] for word in start.lower().split()}
        found = [(f"{name}:", means) for name, means in KEYS.items() if name not in taken]
        if last:
            found += [(f"{STATUS}:{word}", means) for word, means in _values(STATUS) if STATUS not in taken]
            found += [(f"{AGENT}:{word}", means) for word, means in _values(AGENT) if AGENT not in taken]
            found = [(word, means) for word, means in found if _fits(word, last.lower())]
    return [{"text": f"{before}{word}", "means": means} for word, means in found[:OFFERED]]


def _fits(word: str, typed: str) -> bool:
    """Whether a word, or what stands behind its colon, begins with what was typed."""
    return word.lower().startswith(typed) or word.lower().partition(":")[2].startswith(typed)


def _values(key: str) -> list[tuple[str, str]]:
    if key == STATUS:
        return [*REASONS.items(), *((word, "state") for word in STATES)]
    if key == AGENT:
        return [(quoted(name), "agent") for name in finding.agents()]
    if key == OLDER:
        return [(age, "started longer ago than this") for age in _AGES]
    if key in (FROM, TO):
        return [(word, "in your zone") for word in ("today", "yesterday")]
    return [("", KEYS[key])] if key in (REF, SUBJECT) else []
