"""A tool's class follows from its facts, and a declaration that contradicts itself is refused at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta
from decimal import Decimal
from enum import StrEnum
from typing import Any, Literal

import pytest

from durable.budget import hours, minutes, seconds
from durable.errors import Invalid, UnknownTool
from durable.states import EffectClass
from durable.tools import Misdeclared, all_tools, get, isolated, tool
from durable.vendor import Absent, Call, LookupAnswer, Receipt


@pytest.fixture(autouse=True)
def _own_registry() -> Iterator[None]:
    with isolated(empty=True):
        yield


def act(call: Call, order: str) -> Receipt:
    return Receipt(id=order)


def pay(call: Call, order: str, amount: Decimal, currency: str) -> Receipt:
    return Receipt(id=order, amount=amount, currency=currency)


def read(order: str) -> dict[str, Any]:
    return {"order": order}


def undo_it(call: Call) -> Receipt:
    return Receipt(id="undone")


def find_it(call: Call) -> LookupAnswer:
    return Absent()


def facts_of(call: Call) -> Mapping[str, Any]:
    return {"open": True}


def sheet(name: str) -> tuple[EffectClass, str, str]:
    made = get(name)
    return made.effect_class, made.replayed_safely, made.can_be_undone


def test_a_tool_that_declares_nothing_is_irreversible() -> None:
    tool(act)
    assert sheet("act") == (EffectClass.IRREVERSIBLE, "no", "no")


def test_a_tool_that_only_reads_is_a_read() -> None:
    tool(reads=True)(read)
    assert sheet("read") == (EffectClass.READ, "yes: it only reads", "\N{EN DASH}")


def test_a_tool_whose_vendor_honours_a_key_is_idempotent() -> None:
    tool(idempotent_for=hours(24))(act)
    assert sheet("act") == (EffectClass.IDEMPOTENT, "yes: the vendor honours a key for 24 hours", "n/a")


def test_a_tool_becomes_compensable_when_its_undo_is_registered() -> None:
    made = tool(act)
    assert made.undo(undo_it) is undo_it
    assert sheet("act") == (EffectClass.COMPENSABLE, "no", "yes: by undo_it")


def test_a_key_counts_for_more_than_an_undo() -> None:
    tool(idempotent_for=hours(1))(act).undo(undo_it)
    assert sheet("act") == (
        EffectClass.IDEMPOTENT,
        "yes: the vendor honours a key for 1 hour",
        "yes: by undo_it",
    )


def test_look_up_and_recheck_do_not_soften_a_class() -> None:
    made = tool(act)
    assert made.lookup(find_it) is find_it
    assert made.recheck(facts_of) is facts_of
    assert (made.lookup_function, made.recheck_function) == (find_it, facts_of)
    assert made.effect_class is EffectClass.IRREVERSIBLE


def test_a_class_cannot_be_set_by_hand() -> None:
    made = tool(act)
    with pytest.raises(AttributeError):
        made.effect_class = EffectClass.READ  # type: ignore[misc]  # has no setter
    with pytest.raises(TypeError):
        tool(effect_class=EffectClass.READ)(act)  # type: ignore[call-overload]  # no such fact


def test_each_class_says_why_in_a_sentence() -> None:
    reasons = {
        tool(reads=True)(read).why,
        tool(name="a", idempotent_for=seconds(90))(act).why,
        tool(name="b")(act).why,
    }
    reserve = tool(name="c")(act)
    reserve.undo(undo_it)
    reasons.add(reserve.why)
    assert len(reasons) == 4
    assert all(reason.endswith(".") for reason in reasons)
    assert "90 seconds" in get("a").why
    assert "undo_it" in get("c").why


def test_an_undo_is_an_effect_with_a_class_of_its_own() -> None:
    tool(name="a")(act).undo(undo_it)
    tool(name="b")(act).undo(lookup=find_it, depends_on=("a",), idempotent_for=hours(2))(undo_it)
    plain, keyed = get("a").undo_act, get("b").undo_act
    assert plain is not None
    assert keyed is not None
    assert plain.effect_class is EffectClass.IRREVERSIBLE
    assert keyed.effect_class is EffectClass.IDEMPOTENT
    assert (keyed.name, keyed.lookup, keyed.depends_on) == ("undo_it", find_it, ("a",))


def test_a_tool_is_not_called_directly() -> None:
    with pytest.raises(TypeError, match="not callable"):
        tool(act)(None, "8812")  # type: ignore[operator]  # not callable


def test_an_unknown_tool_is_refused() -> None:
    tool(act)
    with pytest.raises(UnknownTool, match=r"^tool: 'rm -rf' is not registered; known are .*act"):
        get("rm -rf")
    with pytest.raises(UnknownTool):
        get("\ud800")


def test_two_tools_of_one_name_are_an_error() -> None:
    tool(act)
    with pytest.raises(Misdeclared, match="two tools are called act"):
        tool(name="act")(pay)


def test_a_module_that_is_read_twice_declares_its_tools_once() -> None:
    tool(act)
    before = all_tools()
    again = tool(act)
    assert [made.name for made in all_tools()] == [made.name for made in before]
    assert get("act") is again


def test_the_order_of_registration_does_not_count() -> None:
    with isolated(empty=True):
        for function in (pay, act):
            tool(function)
        one = [made.name for made in all_tools()]
    with isolated(empty=True):
        for function in (act, pay):
            tool(function)
        assert [made.name for made in all_tools()] == one


@pytest.mark.parametrize(
    ("facts", "rule"),
    [
        (
            {"money": "total"},
            "money names the argument total, which does not exist; there are: amount, currency, order",
        ),
        ({"money": "order"}, "must be a Decimal"),
        ({"money": "amount", "currency": "coin"}, "coin, which does not"),
        ({"money": "amount", "currency": "amount"}, "must be a str"),
        ({"currency": "currency"}, "without money"),
        ({"subject": "customer"}, "subject names the argument customer"),
        ({"secret": ("pin",)}, "secret names"),
        ({"subject": {"buyer": "customer"}}, "subject names the argument customer"),
        ({"version": 0}, "version"),
        ({"once_per": ("order", "day")}, "once_per names the argument day"),
        ({"target": "charge"}, "target names"),
        ({"idempotent_for": timedelta(0)}, "idempotent_for"),
        ({"idempotent_for": seconds(5)}, "send_within"),
        ({"in_flight": seconds(-1)}, "in_flight"),
        ({"lookup_lag": seconds(-1)}, "lookup_lag"),
        ({"send_within": seconds(0)}, "send_within"),
        ({"freshness": minutes(5)}, "for tools that read"),
        ({"reads": True}, "without a Call"),
    ],
)
def test_facts_that_contradict_the_function_are_refused(facts: dict[str, Any], rule: str) -> None:
    with pytest.raises(Misdeclared, match=r"^tool pay: ") as caught:
        tool(**facts)(pay)
    assert rule in str(caught.value)
    assert "pay" not in {made.name for made in all_tools()}


@pytest.mark.parametrize(
    "facts",
    [
        {"idempotent_for": hours(1)},
        {"once_per": ("order",)},
        {"target": "order"},
        {"lookup_lag": seconds(1)},
        {"money": "order"},
        {"freshness": timedelta(0)},
    ],
)
def test_a_read_declares_nothing_that_belongs_to_an_effect(facts: dict[str, Any]) -> None:
    with pytest.raises(Misdeclared, match=r"^tool read: "):
        tool(reads=True, **facts)(read)


@pytest.mark.parametrize(
    ("what", "function"), [("undo", undo_it), ("lookup", find_it), ("recheck", facts_of)]
)
def test_each_part_is_registered_once_and_for_effects_only(what: str, function: Any) -> None:
    made = tool(act)
    getattr(made, what)(function)
    with pytest.raises(Misdeclared, match=f"its {what} is registered already"):
        getattr(made, what)(function)
    with pytest.raises(Misdeclared, match=f"has no effect, and so no {what}"):
        getattr(tool(reads=True)(read), what)(function)
    with pytest.raises(Misdeclared, match=f"its {what} takes one parameter"):
        getattr(tool(pay), what)(act)


def test_a_function_that_states_no_schema_is_refused() -> None:
    def untyped(call: Call, order) -> Receipt: ...  # type: ignore[no-untyped-def, empty-body]  # what is refused
    def many(call: Call, *orders: str) -> Receipt: ...  # type: ignore[empty-body]  # never called
    def any_named(call: Call, **orders: str) -> Receipt: ...  # type: ignore[empty-body]  # never called
    def no_call(order: str) -> Receipt: ...  # type: ignore[empty-body]  # never called
    def none_at_all() -> Receipt: ...  # type: ignore[empty-body]  # never called
    def hidden(call: Call, _order: str) -> Receipt: ...  # type: ignore[empty-body]  # never called
    def odd(call: Call, order: threading.Lock) -> Receipt: ...  # type: ignore[name-defined, empty-body]  # noqa: F821  # refused
    def opaque(call: Call, order: Iterator[object] | Receiver) -> Receipt: ...  # type: ignore[empty-body]  # never called

    for function in (untyped, many, any_named, no_call, none_at_all, hidden, odd, opaque):
        with pytest.raises(Misdeclared, match=f"^tool {function.__name__}: "):
            tool(function)


class Receiver:
    """A type of which pydantic knows no schema."""


class Why(StrEnum):
    LATE = "late"
    BROKEN = "broken"


@pytest.mark.parametrize("words", [Literal["late", "broken"], Why])
def test_a_reason_is_one_of_a_few_words_and_stands_in_the_proposal(words: Any) -> None:
    def send(call: Call, order: str, why: str) -> Receipt:
        return Receipt(id=order)

    send.__annotations__["why"] = words
    made = tool(reason="why")(send)
    assert made.proposal({"order": "1", "why": "late"}).reason == "late"
    with pytest.raises(Invalid):
        made.proposal({"order": "1", "why": "Ann Smith wrote that it was late"})


@pytest.mark.parametrize("kind", [str, int, Literal[1, 2]])
def test_what_anybody_may_have_written_is_no_reason(kind: Any) -> None:
    def send(call: Call, why: str) -> Receipt:
        return Receipt(id="1")

    send.__annotations__["why"] = kind
    with pytest.raises(Misdeclared, match="reason names the argument why, which must be a Literal"):
        tool(reason="why")(send)
