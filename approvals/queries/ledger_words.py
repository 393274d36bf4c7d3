"""What may come next in a query of the ledger, and other ways in which a free text may be meant."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from approvals.ledger_query import (
    AMOUNT,
    CURRENCY,
    FROM,
    KEYS,
    NO,
    STATE,
    STATE_WORDS,
    TO,
    UNDO,
    UNDONE,
    YES,
    LedgerQuery,
)
from approvals.queries import groups, subjects
from approvals.queries.groups import Group
from approvals.typed import quoted, written
from durable.money import EXPONENTS

#: More than these are no help.
OFFERED = 24
_TIMES = {"today": "in your zone", "yesterday": "in your zone"}
_UNDOS = {NO: "what was done", YES: "what took it back"}
_AMOUNTS = {"100..200": "from 100 to 200, both included", ">=100": "100 or more"}
_MONEY = re.compile(r"([0-9]+(?:\.[0-9]{1,4})?)(?: ?([A-Za-z]{3}))?")


def suggestions(text: str) -> list[dict[str, str]]:
    """Completions of the last word of `text`, as the whole text would then be, each with what it means."""
    start, _, last = text.rpartition(" ")
    before = f"{start} " if start else ""
    key, colon, value = last.lower().partition(":")
    keys = {kind: f"the {kind} that it is about" for kind in subjects.kinds()} | KEYS
    if colon:
        found = [(f"{key}:{quoted(word)}", means) for word, means in _values(key) if _begins(word, value)]
    else:
        taken = {word.partition(":")[0] for word in start.lower().split()}
        found = [(f"{name}:", means) for name, means in keys.items() if name not in taken]
        if last:
            words = groups.known(groups.all_groups())
            named = [(f"{name}:{quoted(word)}", name) for name in words for word in words[name]]
            named += [(f"{STATE}:{word}", STATE) for word in STATE_WORDS]
            found += [(word, f"by {name}") for word, name in named if name not in taken]
            found = [
                (word, means)
                for word, means in found
                if _begins(word, last) or _begins(word.partition(":")[2], last)
            ]
    return [{"text": f"{before}{word}", "means": means} for word, means in found[:OFFERED]]


def _values(key: str) -> list[tuple[str, str]]:
    if key == STATE:
        return [(word, "an undo of it was applied" if word == UNDONE else "state") for word in STATE_WORDS]
    if key in (FROM, TO):
        return list(_TIMES.items())
    if key in (AMOUNT, UNDO):
        return list((_AMOUNTS if key == AMOUNT else _UNDOS).items())
    if key in KEYS and (words := groups.known(groups.all_groups()).get(key)):
        return [(word, key) for word in words]
    return [("", means)] if (means := KEYS.get(key)) else []


def _begins(word: str, typed: str) -> bool:
    return word.casefold().startswith(typed.casefold())


def readings(query: LedgerQuery, known: Sequence[Group]) -> list[dict[str, str]]:
    """Other ways in which the free text of a query may be meant: `words`, and the query that means it so."""
    text = query.text.casefold()
    if not text:
        return []
    found: list[tuple[str, str]] = []
    for key, words in groups.known(known).items():
        found += [(key, word) for word in words if word.casefold() == text]
    if text.replace(" ", "-") in STATE_WORDS:
        found.append((STATE, text.replace(" ", "-")))
    found = [one for one in found if not query[one[0]]]
    shown = [{"words": f"{key}: {word}", "query": _with(query, {key: word})} for key, word in found]
    money = _MONEY.fullmatch(query.text)
    if money and not query[AMOUNT] and (not money[2] or money[2].upper() in EXPONENTS):
        put = {AMOUNT: money[1]} | ({CURRENCY: money[2].upper()} if money[2] else {})
        shown.append({"words": f"{AMOUNT}: {query.text}", "query": _with(query, put)})
    return shown


def _with(query: LedgerQuery, put: Mapping[str, str]) -> str:
    return written([*((key, value) for key, value in query.given if key not in put), *put.items()])
