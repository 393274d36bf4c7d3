"""The exception tree. An exception is its docstring; the message names the field, the rule and what to do."""

from __future__ import annotations

from datetime import timedelta


class InterlockError(Exception):
    """Root of everything that Interlock raises on purpose."""


class Invalid(InterlockError):
    """Input was refused at the door; nothing was written.

    `field` is the path of the offending value (`input.amount`), `rule` says in words what must hold and what to do.
    """

    def __init__(self, field: str, rule: str) -> None:
        super().__init__(f"{field}: {rule}")
        self.field = field
        self.rule = rule


class UnknownAgent(Invalid):
    """No agent of this name is registered."""


class UnknownTool(Invalid):
    """No tool of this name is registered; an unknown tool is refused, never guessed."""


class Conflict(InterlockError):
    """The world is not in the state that the caller believed; nothing was written. The message says who won."""


class Moved(Conflict):
    """The run no longer stands as the person saw it who wants to act on it; nothing was written."""


class NotFound(InterlockError):
    """No such run, wait, effect or checkpoint."""


class LeaseLost(BaseException):
    """The attempt no longer holds its run, or lost its connection: it must stop, and every further write of
    it is refused.

    A `BaseException`, so that author code can't swallow it.
    """


class Incompatible(InterlockError):
    """The code at hand cannot continue this run. The message says which step or type changed."""


class BudgetExhausted(InterlockError):
    """A limit of the run's budget would be passed. `limit` names it: steps, tokens, money or deadline."""

    def __init__(self, limit: str, message: str) -> None:
        super().__init__(message)
        self.limit = limit


class StepTimeout(InterlockError):
    """The step ran longer than its time limit."""


class EffectRefused(InterlockError):
    """People or the rules said no to an effect; a step may catch this and go on without it.

    `state` is rejected, expired or withdrawn; `words` are the reviewer's own, unchanged.
    """

    def __init__(self, key: str, state: str, words: str) -> None:
        super().__init__(
            f"{key} was {state}, not executed: {words}" if words else f"{key} was {state}, not executed"
        )
        self.key = key
        self.state = state
        self.words = words


class EffectFailed(InterlockError):
    """The vendor refused the effect for good; nothing moved."""

    def __init__(self, key: str, code: str, message: str) -> None:
        super().__init__(f"{key} failed at the vendor ({code}): {message}")
        self.key = key
        self.code = code


class VendorError(InterlockError):
    """Root of what an adapter may raise. Anything else that it raises counts as `InDoubt`."""


class VendorRefused(VendorError):
    """A definitive no: the vendor did not act and will not under this key (a 4xx with a readable body)."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message


class NotSent(VendorError):
    """The request certainly had no effect and may be repeated: could not connect, or 429. Retried with backoff."""

    def __init__(self, message: str, retry_after: timedelta | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class InDoubt(VendorError):
    """Nobody can tell whether the vendor acted: timeout, reset, 5xx, 409 in progress, unreadable answer.

    `saved` is true where the vendor keeps this very error under the key, so that repeating can never succeed.
    """

    def __init__(self, message: str, *, saved: bool = False) -> None:
        super().__init__(message)
        self.saved = saved


class CannotSay(VendorError):
    """A look-up could not answer (vendor away, page cut, lag). Not an absence."""


class Suspension(BaseException):
    """Leaves a step towards its runner; a `BaseException`, so that author code can't swallow it by accident.

    `waits` are what the run waits for: waits to be opened as the run suspends (with a deadline, or open already in the
    database). The run object that raised it refuses everything afterwards.
    """

    def __init__(self, *waits: object) -> None:
        super().__init__("the run suspends")
        self.waits = waits


class Stopping(BaseException):
    """The run is no longer to go forward (cancelled, failing, held, or stopped by order); its worker turns to that.

    `stop` is the number of the stop order, where one stands in the way.
    """

    def __init__(self, message: str, *, stop: int | None = None) -> None:
        super().__init__(message)
        self.stop = stop


class HandingBack(BaseException):
    """The worker is to end: it starts nothing more and hands its run back, for another one to go on at once."""
