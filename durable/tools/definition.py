"""A declared tool: its facts, its arguments, and the look-up, undo and recheck that its author registers."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from enum import StrEnum
from typing import Any, Literal, get_args, get_origin, overload

from durable.states import EffectClass
from durable.tools import facts as sheet
from durable.tools.arguments import Arguments
from durable.tools.facts import Facts, Misdeclared
from durable.tools.proposal import Proposal, build
from durable.vendor import Call, LookupAnswer, Period, Receipt

Lookup = Callable[[Call], LookupAnswer]
Recheck = Callable[[Call], Mapping[str, Any]]
Statement = Callable[[Period], Iterable[Receipt]]
UndoAct = Callable[[Call], Receipt]


@dataclass(frozen=True, slots=True)
class Undo:
    """The hand-written act that undoes an applied effect, found in `call.undoes`. Itself an effect.

    `lookup` finds the undo's own outcome. `depends_on` names the tools whose failed undo stops this one.
    Without `idempotent_for` it is irreversible, and gated like any act that can be neither replayed nor undone.
    """

    function: UndoAct
    lookup: Lookup | None = None
    depends_on: tuple[str, ...] = ()
    idempotent_for: timedelta | None = None

    @property
    def name(self) -> str:
        """The name under which the ledger has the undo: its function's."""
        return self.function.__name__

    @property
    def effect_class(self) -> EffectClass:
        """The class of the undo as an effect of its own: it follows from whether the vendor honours a key."""
        return sheet.classify(Facts(idempotent_for=self.idempotent_for), None)


class Tool:
    """A function that an agent may call through `run.effect` or `run.call`, never directly."""

    def __init__(self, function: Callable[..., Any], name: str, facts: Facts) -> None:
        self.function = function
        self.name = name
        self.facts = facts
        self.arguments = Arguments.of(function, reads=facts.reads)
        self.lookup_function: Lookup | None = None
        self.recheck_function: Recheck | None = None
        self.statement_function: Statement | None = None
        self.undo_act: Undo | None = None
        _check(self)

    def __repr__(self) -> str:
        return f"<tool {self.name}, {self.effect_class}>"

    # What the engine asks

    @property
    def effect_class(self) -> EffectClass:
        """Follows from the facts and from whether an undo is registered."""
        return sheet.classify(self.facts, self._undo_name)

    @property
    def replayed_safely(self) -> str:
        """The sheet's answer to whether it can be replayed safely, in words."""
        return sheet.replayed_safely(self.facts)

    @property
    def can_be_undone(self) -> str:
        """The sheet's answer to whether it can be undone, in words."""
        return sheet.can_be_undone(self.facts, self._undo_name)

    @property
    def why(self) -> str:
        """One sentence for the classification table."""
        return sheet.why(self.facts, self._undo_name)

    @property
    def schema(self) -> dict[str, Any]:
        """The arguments' JSON schema, as a model or a form needs it."""
        return self.arguments.model.model_json_schema()

    def proposal(self, args: Mapping[str, Any]) -> Proposal:
        """The arguments checked and settled. Refuses with `Invalid`, which names `args.<path>` and the rule."""
        return build(self.name, self.facts, self.arguments.validate(args), args)

    def typed(self, args: Mapping[str, Any]) -> dict[str, Any]:
        """A proposal's `args` as the typed values that the function takes."""
        return self.arguments.validate(args)

    # What an author registers

    def lookup(self, function: Lookup) -> Lookup:
        """Register how an outcome is found by key or business reference. It raises `CannotSay` when it can't."""
        self._accepts("lookup", self.lookup_function, function)
        self.lookup_function = function
        return function

    def statement(self, function: Statement) -> Statement:
        """Register the vendor's account of a period: each act once, as a receipt with its moment and, where the vendor
        shows it, its key; page by page where there may be many. Raises `CannotSay`, also in the middle.
        """
        self._accepts("statement", self.statement_function, function, "period: Period")
        self.statement_function = function
        return function

    def recheck(self, function: Recheck) -> Recheck:
        """Register the facts that must be the same at release as they were when the effect was proposed."""
        self._accepts("recheck", self.recheck_function, function)
        self.recheck_function = function
        return function

    @overload
    def undo(
        self,
        function: UndoAct,
        *,
        lookup: Lookup | None = None,
        depends_on: tuple[str, ...] = (),
        idempotent_for: timedelta | None = None,
    ) -> UndoAct: ...
    @overload
    def undo(
        self,
        function: None = None,
        *,
        lookup: Lookup | None = None,
        depends_on: tuple[str, ...] = (),
        idempotent_for: timedelta | None = None,
    ) -> Callable[[UndoAct], UndoAct]: ...
    def undo(
        self,
        function: UndoAct | None = None,
        *,
        lookup: Lookup | None = None,
        depends_on: tuple[str, ...] = (),
        idempotent_for: timedelta | None = None,
    ) -> UndoAct | Callable[[UndoAct], UndoAct]:
        """Register the undo: `@reserve.undo`, or with facts of its own (see `Undo`) `@reserve.undo(lookup=...)`."""

        def wrap(act: UndoAct) -> UndoAct:
            self._accepts("undo", self.undo_act, act)
            self.undo_act = Undo(act, lookup, depends_on, idempotent_for)
            return act

        return wrap if function is None else wrap(function)

    @property
    def _undo_name(self) -> str | None:
        return self.undo_act.name if self.undo_act is not None else None

    def _accepts(
        self, what: str, registered: object, function: Callable[..., Any], one: str = "call: Call"
    ) -> None:
        if self.facts.reads:
            raise Misdeclared(f"tool {self.name}: a tool that reads has no effect, and so no {what}")
        if registered is not None:
            raise Misdeclared(f"tool {self.name}: its {what} is registered already")
        if len(inspect.signature(function).parameters) != 1:
            raise Misdeclared(f"tool {self.name}: its {what} takes one parameter, `{one}`")


def _check(made: Tool) -> None:
    """Refuse facts that contradict themselves or the function's arguments."""
    for fault in made.facts.faults():
        raise Misdeclared(fault)
    for fact, name in made.facts.arguments():
        if name not in made.arguments.names:
            known = ", ".join(sorted(made.arguments.names)) or "none"
            raise Misdeclared(f"{fact} names the argument {name}, which does not exist; there are: {known}")
    money, currency = made.facts.money, made.facts.currency
    if money is not None and made.arguments.annotation(money) is not Decimal:
        raise Misdeclared(f"money names the argument {money}, which must be a Decimal")
    if currency is not None and made.arguments.annotation(currency) is not str:
        raise Misdeclared(f"currency names the argument {currency}, which must be a str")
    reason = made.facts.reason
    if reason is not None and not _is_of_few_words(made.arguments.annotation(reason)):
        raise Misdeclared(
            f"reason names the argument {reason}, which must be a Literal of texts or a StrEnum"
        )


def _is_of_few_words(annotation: object) -> bool:
    """Whether a type has a few texts as its values: what is kept in clear must not be what somebody wrote."""
    if get_origin(annotation) is Literal:
        return all(isinstance(word, str) for word in get_args(annotation))
    return isinstance(annotation, type) and issubclass(annotation, StrEnum)
