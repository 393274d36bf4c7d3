"""Money of a run's budget: reserved with an intent, then spent with its outcome (`durable.ledger.statements`) or given
back. Minor units throughout.

Reserving is one conditional update, there for an intent and here for a new round: so eight workers that compete for the
last unit get it once.
"""

from __future__ import annotations

from django.db.models import F

from durable.errors import BudgetExhausted
from durable.models import Purse, Run
from durable.money import from_minor


def reserve(run: Run, amount_minor: int, currency: str) -> None:
    """Reserve an amount before it can leave. Raises BudgetExhausted; then nothing is reserved."""
    purse = Purse.objects.filter(budget_id=run.budget_id, currency=currency)
    fits = purse.filter(limit_minor__gte=F("reserved_minor") + F("spent_minor") + amount_minor)
    if fits.update(reserved_minor=F("reserved_minor") + amount_minor):
        return
    raise short(run, amount_minor, currency) or BudgetExhausted("money", f"{currency} was short a moment ago")


def short(run: Run, amount_minor: int, currency: str) -> BudgetExhausted | None:
    """Return why an amount can't be reserved, or None where there is room for it."""
    found = Purse.objects.filter(budget_id=run.budget_id, currency=currency).first()
    if found is None:
        return BudgetExhausted(
            "money", f"the budget of {run.ref} has no limit in {currency}; such money is refused"
        )
    room = found.limit_minor - found.reserved_minor - found.spent_minor
    if room >= amount_minor:
        return None
    asked, left = from_minor(amount_minor, currency), from_minor(room, currency)
    return BudgetExhausted(
        "money", f"{asked} {currency} asked, {left} {currency} left in the budget of {run.ref}"
    )


def give_back(run: Run, amount_minor: int, currency: str) -> None:
    """Give a reservation back: the effect was refused, failed, or never happened."""
    Purse.objects.filter(budget_id=run.budget_id, currency=currency).update(
        reserved_minor=F("reserved_minor") - amount_minor
    )
