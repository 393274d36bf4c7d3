"""The ways in which Python is broken. Left as they are: annotations, decorators, asserts, log lines and sentences."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from enum import Enum

import approvals.capabilities
import approvals.states
import durable.states
from proof.mutants.lines.change import Placed

#: What is put into a node's place, and what that is called.
Found = tuple[Placed, str, str]

_COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
_COUNTED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
}
_LINKS = frozenset({"distinct", "exclude", "filter", "order_by", "select_for_update"})
_ENUMS: dict[str, type[Enum]] = {
    name: found
    for module in (durable.states, approvals.states, approvals.capabilities)
    for name, found in vars(module).items()
    if isinstance(found, type) and issubclass(found, Enum) and list(found)
}


def broken(node: ast.AST) -> Iterator[Found]:
    """Every change within one statement or expression, for all that stands below it too."""
    if isinstance(node, (ast.Assert, ast.Import, ast.ImportFrom, ast.JoinedStr)) or _says_only(node):
        return
    yield from _statement(node)
    yield from _condition(node)
    yield from _expression(node)
    yield from _value(node)
    if isinstance(node, ast.Raise):
        return  # what it says is for people
    for child in _below(node):
        yield from broken(child)


def _below(node: ast.AST) -> Iterator[ast.AST]:
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "decorator_list", "bases", "targets", "target"):
            continue
        if isinstance(node, ast.arguments) and field not in ("defaults", "kw_defaults"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield child


def _says_only(node: ast.AST) -> bool:
    """A docstring, or a line of the log."""
    if not isinstance(node, ast.Expr):
        return False
    if isinstance(node.value, ast.Constant):
        return True
    call = node.value.func if isinstance(node.value, ast.Call) else None
    return isinstance(call, ast.Attribute) and isinstance(call.value, ast.Name) and call.value.id == "log"


def _statement(node: ast.AST) -> Iterator[Found]:
    match node:
        case ast.Expr(value=ast.Yield() | ast.YieldFrom()):
            return
        case ast.Expr() | ast.Raise() | ast.AugAssign():
            yield node, "pass", "statement dropped"
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            yield node, "pass", "statement dropped"
        case ast.Continue() | ast.Break():
            yield node, "pass", "statement dropped"
        case ast.Return(value=ast.expr() as value) if not _none(value):
            if isinstance(value, (ast.Compare, ast.BoolOp)) or _is_not(value):
                yield value, "True", "answer fixed"
                yield value, "False", "answer fixed"
            else:
                yield value, "None", "answer emptied"
        case ast.ExceptHandler(body=[first, *_]) if not isinstance(first, ast.Raise):
            yield first, "raise", "error not caught"


def _condition(node: ast.AST) -> Iterator[Found]:
    tests: list[ast.expr] = []
    match node:
        case ast.If(test=test) | ast.IfExp(test=test) | ast.match_case(guard=ast.expr() as test):
            tests = [test]
        case ast.While(test=test):
            yield test, "False", "condition fixed"
        case ast.comprehension(ifs=ifs):
            tests = ifs
    for test in tests:
        yield test, "True", "condition fixed"
        yield test, "False", "condition fixed"


def _expression(node: ast.AST) -> Iterator[Found]:
    match node:
        case ast.BoolOp(values=values) if len(values) > 1:
            for n in range(len(values)):
                left = copy.copy(node)
                left.values = values[:n] + values[n + 1 :]
                kept = left.values[0] if len(left.values) == 1 else left
                yield node, f"({ast.unparse(kept)})", "operand dropped"
        case ast.Compare(ops=ops):
            for n, op in enumerate(ops):
                other = copy.copy(node)
                other.ops = [*ops[:n], _COMPARED[type(op)](), *ops[n + 1 :]]
                yield node, f"({ast.unparse(other)})", "comparison changed"
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield node, f"({ast.unparse(operand)})", "not dropped"
        case ast.BinOp(op=op) if type(op) in _COUNTED and not isinstance(node.left, ast.JoinedStr):
            sum_ = copy.copy(node)
            sum_.op = _COUNTED[type(op)]()
            yield node, f"({ast.unparse(sum_)})", "arithmetic changed"
        case ast.Call():
            yield from _call(node)


def _call(node: ast.Call) -> Iterator[Found]:
    if isinstance(node.func, ast.Attribute) and node.func.attr in _LINKS:
        yield node, ast.unparse(node.func.value), "link of a query dropped"
    parts = len(node.args) + len(node.keywords)
    for n in range(len(node.keywords)):
        less = copy.copy(node)
        less.keywords = node.keywords[:n] + node.keywords[n + 1 :]
        yield node, ast.unparse(less), "keyword dropped"
    if isinstance(node.func, ast.Attribute) and node.func.attr in _LINKS and parts > 1:
        for n in range(len(node.args)):
            less = copy.copy(node)
            less.args = node.args[:n] + node.args[n + 1 :]
            yield node, ast.unparse(less), "part of a query dropped"


def _value(node: ast.AST) -> Iterator[Found]:
    match node:
        case ast.Constant(value=bool() as truth):
            yield node, str(not truth), "constant changed"
        case ast.Constant(value=int() | float() as number):
            yield node, repr(number + 1), "constant changed"
        case ast.Attribute(value=ast.Name(id=name), attr=member) if name in _ENUMS and member.isupper():
            members = [one.name for one in _ENUMS[name]]
            if member in members and len(members) > 1:
                yield (
                    node,
                    f"{name}.{members[(members.index(member) + 1) % len(members)]}",
                    "member changed",
                )
        case ast.Compare(left=left, comparators=right):
            yield from (_text(one) for one in (left, *right) if _is_text(one))
        case ast.keyword(value=value) | ast.Subscript(slice=value) if _is_text(value):
            yield _text(value)
        case ast.Dict(keys=keys):
            yield from (_text(one) for one in keys if _is_text(one))


def _is_text(node: ast.AST | None) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _text(node: ast.AST | None) -> Found:
    assert isinstance(node, ast.Constant) and isinstance(node.value, str)
    return node, repr(node.value + "~"), "text changed"


def _is_not(node: ast.expr) -> bool:
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)


def _none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None
