"""Cells of CSV that no spreadsheet takes for a formula, and that a machine reads back exactly.

A text gets an apostrophe where a reader could begin a cell that it would compute: at its start, and behind whatever
some spreadsheet splits cells by (semicolon, bar, tab, line break), if what follows there, white space aside, is one of
`= + - @`, their full-width forms, or an apostrophe. A text that begins with a tab or a line break gets one too.
So reading back is one rule: at the start and behind each of those marks, one apostrophe goes (`BACK`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_MARKS = r"[;|\t\r\n]"
_COMPUTED = r"[-=+@''\uFF0B\uFF0D\uFF1D\uFF20]"
_ANY = rf"(^|{_MARKS})\s*{_COMPUTED}|^[\t\r\n]"
_FIRST = rf"^(\s*{_COMPUTED}|[\t\r\n])"
_LATER = rf"({_MARKS})(?=\s*{_COMPUTED})"

_SOME = rf"(^|{_MARKS})\s*{_COMPUTED}|(^|;)[\t\r\n]"

#: What was put in: `BACK.sub(r"\1", cell)` is the text.
BACK = re.compile(r"(^|[;|\t\r\n])'")


def guarded(text: str) -> str:
    """SQL for a text as its cell has it; `text` is SQL as well."""
    later = rf"regexp_replace({text}, '{_LATER}', '\1''', 'g')"
    first = f"CASE WHEN {text} ~ '{_FIRST}' THEN '''' ELSE '' END"
    return f"CASE WHEN {text} ~ '{_ANY}' THEN {first} || {later} ELSE {text} END"


def suspicious(texts: Iterable[str]) -> str:
    """SQL for whether any of these texts may need an apostrophe: one look at all of them, joined by a mark. Nearly all
    rows need none.
    """
    return f"concat_ws(';', {', '.join(texts)}) ~ '{_SOME}'"
