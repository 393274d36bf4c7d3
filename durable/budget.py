"""What a run may use up, as its agent declares it. No resume, retry or fork sets any of it back."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from durable.errors import Invalid
from durable.money import Money
from durable.text import MAX_INT


def seconds(count: float) -> timedelta:
    """So many seconds."""
    return timedelta(seconds=count)


def minutes(count: float) -> timedelta:
    """So many minutes."""
    return timedelta(minutes=count)


def hours(count: float) -> timedelta:
    """So many hours."""
    return timedelta(hours=count)


def days(count: float) -> timedelta:
    """So many days of 24 hours."""
    return timedelta(days=count)


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits of one run; None is no limit.

    `steps` counts executed steps, `tokens` those of model calls, `deadline` the time since the run's start,
    waits included. `money` limits each currency by itself, and refuses a currency that it does not name: a
    run without `money` moves none. Undos stand outside it.
    """

    steps: int | None = None
    tokens: int | None = None
    money: Money | tuple[Money, ...] = ()
    deadline: timedelta | None = None

    def __post_init__(self) -> None:
        _check_count(self.steps, "budget.steps")
        _check_count(self.tokens, "budget.tokens")
        _check_money(self.money if isinstance(self.money, tuple) else (self.money,))
        _check_deadline(self.deadline)

    @property
    def purses(self) -> tuple[Money, ...]:
        """The limits of money, one a currency, however they were declared."""
        return (self.money,) if isinstance(self.money, Money) else self.money

    def limit(self, currency: str) -> int | None:
        """The limit in minor units of `currency`; None where it may not be spent at all."""
        return next((purse.minor for purse in self.purses if purse.currency == currency), None)


def _check_count(count: object, field: str) -> None:
    if count is not None and (type(count) is not int or not 0 < count <= MAX_INT):
        raise Invalid(field, f"must be a whole number from 1 to {MAX_INT}, or None for no limit")


def _check_deadline(deadline: object) -> None:
    if deadline is not None and (not isinstance(deadline, timedelta) or deadline <= timedelta(0)):
        raise Invalid(
            "budget.deadline", "must be a time span above 0, such as hours(6), or None for no limit"
        )


def _check_money(purses: tuple[object, ...]) -> None:
    seen = set()
    for purse in purses:
        if not isinstance(purse, Money):
            raise Invalid("budget.money", 'must be Money, such as Money(250, "EUR"), or a tuple of them')
        if purse.minor < 0:
            raise Invalid("budget.money", f"must not be below 0 {purse.currency}")
        if purse.currency in seen:
            raise Invalid("budget.money", f"must name {purse.currency} once")
        seen.add(purse.currency)
