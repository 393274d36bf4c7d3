"""The ways in which SQL is broken that stands in a module's strings: conditions, assignments, order and locks.

No parser: each rule is a pattern. A change that PostgreSQL can't read is noticed at once and does no harm.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

#: A text is SQL where it says one of these; an f-string's constant may be a part of a statement.
IS_SQL = re.compile(r"\b(SELECT|UPDATE|INSERT|DELETE|RETURNING)\b|\bAND \w+ [<>=]")

_END = r"(?=\s+(?:AND|OR|THEN|FOR|RETURNING|ORDER|LIMIT|GROUP|UNION|ON|ELSE|END)\b|\s*[,)]|\s*\n|$)"
_CONDITION = re.compile(
    rf"(?:\b(?:WHERE|AND|ON|WHEN)\s+|\A(?=[a-z_.]+ [<>=]))(?P<cond>(?:[^\n()]|\([^()]*\))+?){_END}"
)
_SETTING = re.compile(
    r"(?<=[\s,])(?P<name>[a-z_]+) = (?P<value>(?:CASE\b.*?\bEND|[^,\n()]|\((?:[^()]|\([^()]*\))*\))+?)"
    r"(?=,\s|\s*\n?\s*(?:FROM|WHERE|RETURNING)\b)",
    re.DOTALL,
)
_TABLE = re.compile(r"(?:\bUPDATE|\bINSERT INTO) ([a-z_]+)(?: ([a-z]\w*))?")
_SET = re.compile(r"\bSET\b(?P<body>.*?)(?=\bFROM\b|\bWHERE\b|\bRETURNING\b|$)", re.DOTALL)
_LOCK = re.compile(r"\bFOR (?:NO KEY )?UPDATE(?: OF \w+)?(?: SKIP LOCKED| NOWAIT)?")
_ORDER = re.compile(r"\bORDER BY [\w., ]+|\bLIMIT \d+")
_MEMBER = re.compile(r"(?<=[(, ])'[a-z ]+'")
_SWAPS = (
    (re.compile(r"(?<= )<=(?= )"), "<"),
    (re.compile(r"(?<= )<(?= )"), "<="),
    (re.compile(r"(?<= )>=(?= )"), ">"),
    (re.compile(r"(?<= )>(?= )"), ">="),
    (re.compile(r"(?<= )\+(?= )"), "-"),
    (re.compile(r"(?<= )-(?= )"), "+"),
    (re.compile(r"\bIS NOT NULL\b"), "IS NULL"),
    (re.compile(r"\bIS NULL\b"), "IS NOT NULL"),
    (re.compile(r"\btrue\b"), "false"),
    (re.compile(r"\bfalse\b"), "true"),
    (re.compile(r"\bUNION ALL\b"), "EXCEPT"),
)

#: Where in the text, what comes there, what that is called.
Found = tuple[int, int, str, str]


def broken(text: str) -> Iterator[Found]:
    """Every change of one text of SQL, as characters of it. Comments are left as they are."""
    comments = [one.span() for one in re.finditer(r"--[^\n]*", text)]
    seen: set[tuple[int, int, str]] = set()
    for start, end, new, kind in _all(text):
        outside = all(end <= first or start >= last for first, last in comments)
        if outside and text[start:end] != new and (start, end, new) not in seen:
            seen.add((start, end, new))
            yield start, end, new, kind


def _all(text: str) -> Iterator[Found]:
    for one in _CONDITION.finditer(text):
        cond = one.group("cond")
        if re.search(r"[<>=]|\bIN\b|\bIS\b", cond):
            yield *one.span("cond"), f"({cond} OR true)", "SQL condition dropped"
    for part in _SET.finditer(text):
        table = [found.group(2) or found.group(1) for found in _TABLE.finditer(text, 0, part.start())]
        for one in _SETTING.finditer(text, *part.span("body")):
            if table and "%s" not in one.group("value"):
                yield *one.span("value"), f"{table[-1]}.{one.group('name')}", "SQL assignment dropped"
    for one in _LOCK.finditer(text):
        yield *one.span(), "", "SQL lock dropped"
    for one in _ORDER.finditer(text):
        yield *one.span(), "", "SQL order dropped"
    for one in _MEMBER.finditer(text):
        yield *one.span(), one.group()[:-1] + "~'", "SQL text changed"
    for pattern, new in _SWAPS:
        for one in pattern.finditer(text):
            yield *one.span(), new, "SQL operator changed"
