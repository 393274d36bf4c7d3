"""All changes of a module, each of which Python can still read."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from proof.mutants.lines import constants, operators, sql
from proof.mutants.lines.change import Change, Source

_QUOTE = re.compile(r"[a-zA-Z]*(\"\"\"|'''|\"|')")
_Scope = ast.FunctionDef | ast.ClassDef


def changes(source: Source) -> list[Change]:
    """Every change of a module, in the order of its lines."""
    found: dict[tuple[int, int, str], Change] = {}
    for top in source.tree.body:
        if isinstance(top, ast.If):
            continue  # what only a type checker reads
        start, end = source.span(top)
        whole = source.text[start:end]
        meaningless = ("", _read(whole))
        for one in (*_in_python(source, top), *_in_sql(source, top)):
            if _read(whole[: one.start - start] + one.new + whole[one.end - start :]) not in meaningless:
                found.setdefault((one.start, one.end, one.new), one)
    return sorted(found.values(), key=lambda one: (one.start, one.end, one.new))


def _in_python(source: Source, top: ast.stmt) -> Iterator[Change]:
    for node, new, kind in operators.broken(top):
        yield _change(source, top, *source.span(node), new, kind)


def _in_sql(source: Source, top: ast.stmt) -> Iterator[Change]:
    said = {id(one.value) for one in ast.walk(top) if isinstance(one, ast.Expr)}
    strings = [one for one in ast.walk(top) if isinstance(one, ast.JoinedStr)]
    parts = {id(part) for one in strings for part in ast.walk(one) if part is not one}
    for node in ast.walk(top):
        if not isinstance(node, (ast.JoinedStr, ast.Constant)) or id(node) in said | parts:
            continue
        start, end = source.span(node)
        text = source.text[start:end]
        quote = _QUOTE.match(text)
        if quote is None or not sql.IS_SQL.search(text):
            continue
        first, last = quote.end(), len(text) - len(quote.group(1))
        for begin, stop, new, kind in sql.broken(text[first:last]):
            yield _change(source, top, start + first + begin, start + first + stop, new, kind)


def _change(source: Source, top: ast.stmt, start: int, end: int, new: str, kind: str) -> Change:
    line = source.line_of(start)
    names: tuple[str, ...] = ()
    lines = (line, source.line_of(end))
    if isinstance(top, _Scope):
        inside = [one for one in ast.walk(top) if isinstance(one, ast.FunctionDef) and _holds(one, *lines)]
        if not inside:
            names = (top.name,)
        elif line < inside[-1].body[0].lineno:  # a default: it is of use when the function runs
            lines = (inside[-1].body[0].lineno, inside[-1].end_lineno or line)
    else:
        names = tuple(constants.assigned(top))
    return Change(source.path, line, kind, source.text[start:end], new, start, end, lines, names)


def _holds(function: ast.FunctionDef, first: int, last: int) -> bool:
    return function.lineno <= first and last <= (function.end_lineno or 0)


def _read(text: str) -> str:
    """A statement as Python reads it; nothing where it can't."""
    try:
        return ast.dump(ast.parse(text))
    except SyntaxError:
        return ""
