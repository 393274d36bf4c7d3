"""What a restore forgets, played by acts at the vendor under the run's own keys, of which its ledger knows nothing."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from durable import restoring
from durable.adapters import stripe_refunds
from durable.models import Run
from durable.vendor import Call
from tests.engine import tools
from tests.engine.scenes import WHY
from tests.vendors import Vendor


def wants(vendor: Vendor, tool: Any = tools.keyed, amount: str = "40.00") -> dict[str, Any]:
    """Script one refund on a new charge; returns its arguments."""
    args = {"charge": tools.charge(vendor, "400.00"), "amount": Decimal(amount)}
    tools.asks((tool, args))
    return args


def done_meanwhile(run: Run, args: dict[str, Any], key: str = "pay", amount: str | None = None) -> str:
    """What the run did after the backup, and its ledger has forgotten; returns the vendor's receipt."""
    call = Call(f"{run.ref}:{key}", run.ref, 10.0, {})
    paid = args["amount"] if amount is None else Decimal(amount)
    return stripe_refunds.refund(call, args["charge"], paid, "EUR", "").id


def restored(**more: Any) -> restoring.Report:
    """Go through a restore, and let the runs go on whatever was listed."""
    report = restoring.restored(**WHY, **more)
    restoring.go_on(**WHY)
    return report
