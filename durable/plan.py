"""Agents and their plans: which steps there are, and which code stands behind each.

A step is a method marked with `@step`; its name is part of every idempotency key, so it must be stable.
Whoever renames a step says so (`was`): runs that stand at the old name go on with the new code under the old
name's keys. Runs that stand at a step which is gone are incompatible, and say so.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, overload

from django.conf import settings
from pydantic import BaseModel, ValidationError

from durable.budget import Budget
from durable.digest import plain
from durable.errors import Incompatible, Invalid, UnknownAgent
from durable.states import Durability
from durable.text import check_json, quoted

if TYPE_CHECKING:
    from durable.context import RunContext

log = logging.getLogger(__name__)

#: What a step returns: the step that comes next, or None at the end.
Next: TypeAlias = "Callable[[RunContext], Any] | None"
StepFunction: TypeAlias = "Callable[[Any, RunContext], Next]"

_MARK = "__interlock_step__"
#: A step's name is part of the idempotency key, of which vendors take 255 characters.
STEP_NAME_LIMIT = 100
#: What is told of the words with which a module refuses to be imported; the log has all of them.
_LONGEST_WORDS = 300


@dataclass(frozen=True, slots=True)
class StepFacts:
    """How a step is executed: how often again after a failure or a crash before a person is asked, the time that one
    execution may take, the pause after the first failure (doubling), and the names that it had before."""

    retries: int = 3
    timeout: timedelta = timedelta(minutes=5)
    backoff: timedelta = timedelta(seconds=1)
    was: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Step:
    """One step of an agent."""

    name: str
    function: Callable[[Any, RunContext], Any]
    facts: StepFacts = field(default_factory=StepFacts)


@overload
def step(function: StepFunction, /) -> StepFunction: ...
@overload
def step(
    *, retries: int = ..., timeout: timedelta = ..., backoff: timedelta = ..., was: tuple[str, ...] = ...
) -> Callable[[StepFunction], StepFunction]: ...
def step(function: StepFunction | None = None, /, **facts: Any) -> Any:
    """Mark a method as a step, bare or with facts (see `StepFacts`)."""

    def mark(marked: StepFunction) -> StepFunction:
        setattr(marked, _MARK, StepFacts(**facts))
        return marked

    return mark if function is None else mark(function)


class Agent:
    """Code that runs execute. Subclass it, mark its steps, and name its module in INTERLOCK_AGENTS.

    The first step in the source is where a run begins. `Input` and `State` are pydantic models of what a run
    is started with and of its working state; a stored state that the present `State` refuses makes a run
    incompatible.
    """

    name: ClassVar[str] = ""
    budget: ClassVar[Budget] = Budget()
    durability: ClassVar[Durability] = Durability.ASYNC
    Input: ClassVar[type[BaseModel] | None] = None
    State: ClassVar[type[BaseModel] | None] = None
    steps: ClassVar[Mapping[str, Step]] = {}

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.name = cls.__dict__.get("name") or cls.__name__
        found = dict(cls.steps)
        for name, value in vars(cls).items():
            facts = getattr(value, _MARK, None)
            if facts is not None and len(name) > STEP_NAME_LIMIT:
                raise TypeError(
                    f"{cls.__name__}: a step's name has at most {STEP_NAME_LIMIT} characters: {name}"
                )
            if facts is not None and hasattr(Agent, name):
                raise TypeError(
                    f"{cls.__name__}: a step can't be called {name}; every agent has that name already"
                )
            if facts is not None:
                found[name] = Step(name, value, facts)
        cls.steps = found
        if found:
            _agents[cls.name] = cls
        else:
            _without_steps.add(cls.name)

    @classmethod
    def first(cls) -> Step:
        """Return the step at which a run begins."""
        return next(iter(cls.steps.values()))

    @classmethod
    def at(cls, name: str) -> Step:
        """Return the code behind a step's name, its present or an earlier one. Raises Incompatible."""
        found = cls.steps.get(name)
        if found is not None:
            return found
        for candidate in cls.steps.values():
            if name in candidate.facts.was:
                return candidate
        raise Incompatible(
            f"{cls.name} has no step {name} any more, and no step says that it was called so "
            f"(there are {', '.join(cls.steps)}); bring it back, or declare was=({name!r},) on its successor"
        )

    @classmethod
    def check_input(cls, value: Any) -> Any:
        """Return a start's input as plain JSON. Raises Invalid naming the field and the rule."""
        check_json(value, "input")
        return value if cls.Input is None else _validated(cls.Input, value, "input")

    @classmethod
    def check_stored(cls, stored_input: Any, state: dict[str, Any]) -> None:
        """Refuse a run that this code does not understand, by its input or its state. Raises Incompatible."""
        try:
            cls.check_input(stored_input)
        except Invalid as error:
            raise Incompatible(f"the input of the run does not fit the code of {cls.name}: {error}") from None
        cls.check_state(state)

    @classmethod
    def check_result(cls, state: dict[str, Any], result: Any) -> None:
        """Refuse what a step leaves behind and a later one could not read. Raises Invalid."""
        check_json(state, "state")
        plain(result, "result")
        try:
            cls.check_state(state)
        except Incompatible as error:
            raise Invalid("state", str(error)) from None

    @classmethod
    def check_state(cls, state: dict[str, Any]) -> None:
        """Refuse a stored state that this code does not understand. Raises Incompatible naming the field."""
        if cls.State is None:
            return
        try:
            cls.State.model_validate(state)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"])
            raise Incompatible(
                f"the working state does not fit the code of {cls.name}: state.{where}: {first['msg']}"
            ) from None


_agents: dict[str, type[Agent]] = {}
#: Classes that others are made of, or whose author forgot to mark a step.
_without_steps: set[str] = set()
#: Broken modules that this process has logged already.
_logged: set[str] = set()


def agents() -> Mapping[str, type[Agent]]:
    """Return every agent of the modules that INTERLOCK_AGENTS names, which brings their tools along.

    Raises UnknownAgent, naming the module and what it stumbles over, where one can't be imported.
    """
    for module in settings.INTERLOCK_AGENTS:
        try:
            import_module(module)
        except Exception as error:
            raise UnknownAgent("agent", _broken(module, error)) from error
    return _agents


def _broken(module: str, error: Exception) -> str:
    """Why a module can't be imported, in one sentence. Where in its code that is, each process logs once."""
    first = next(iter(str(error).splitlines()), "")
    words = f"{type(error).__name__}: {quoted(first, _LONGEST_WORDS)}" if first else type(error).__name__
    sentence = f"INTERLOCK_AGENTS names {module}, which can't be imported: {words}; mend it"
    if sentence not in _logged:
        _logged.add(sentence)
        log.error("%s", sentence, exc_info=error)
    return sentence


def get(name: str) -> type[Agent]:
    """Return an agent by name. Raises UnknownAgent."""
    found = agents().get(name)
    if found is None and name in _without_steps:
        raise UnknownAgent(
            "agent", f"{name} has no step, and so no run can begin; mark a method of it with @step"
        )
    if found is None:
        known = ", ".join(sorted(_agents)) or "none"
        raise UnknownAgent(
            "agent", f"there is no agent {name!r}; known are {known}; name its module in INTERLOCK_AGENTS"
        )
    return found


def _validated(model: type[BaseModel], value: Any, field_name: str) -> Any:
    try:
        return model.model_validate(value).model_dump(mode="json")
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join([field_name, *(str(part) for part in first["loc"])])
        raise Invalid(where, first["msg"]) from None


def names(cls: type[Agent]) -> Iterator[str]:
    """Yield the names of an agent's steps, in the order of its source."""
    yield from cls.steps
