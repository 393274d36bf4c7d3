"""What the races are run on: a vendor of their own, people who decide, and runs that are ready to be contended for."""

from __future__ import annotations

import itertools
import secrets
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import override_settings

from approvals.decisions import Answer, Circumstances, decide
from approvals.models import Decision, Gate
from approvals.people import demo_people
from approvals.states import Verdict
from durable import runner, runs
from durable.models import Run
from local.vendor import Vendor
from proof.stage import stage

HERE = Circumstances(ip="192.0.2.7", browser="proof", authenticated="session")
#: A refund of so much waits for a person; `SMALL` leaves on its own.
LARGE, SMALL, EDITED = 150, 40, 120
PAID = "500.00"


@dataclass
class Ground:
    """The vendor, the people, and what the vendor's book says."""

    vendor: Vendor
    reviewers: tuple[User, User]
    _numbers: Iterator[int] = field(default_factory=itertools.count)
    _token: str = field(default_factory=lambda: secrets.token_hex(4))

    def name(self) -> str:
        """A name that no order has had before."""
        return f"{self._token}-{next(self._numbers)}"

    def order(self) -> dict[str, Any]:
        """An order that nobody has had before, and a charge of its own."""
        name = self.name()
        return {"order": name, "charge": self.vendor.charge(PAID, "EUR", order=name)}

    def start(self, agent: str, **input: Any) -> Run:
        """Start a run, about an order of its own unless `input` names one."""
        given = input if "order" in input else self.order() | input
        return runs.start(agent, given, actor="the races")

    def moved(self) -> dict[str, list[Decimal]]:
        """What the book says has moved: amounts by charge, pieces (negative: put back) by order."""
        found: dict[str, list[Decimal]] = defaultdict(list)
        for one in self.vendor.book():
            if one["service"] == "payments":
                found[one["target"]].append(Decimal(one["amount"]))
            else:
                facts = one["metadata"]
                found[facts["order"]].append(Decimal(facts["quantity"]))
        return found


def drive(found: Iterable[Run]) -> None:
    """Take runs as far as they go, as a worker would, and read them anew."""
    for run in found:
        while runner.drive(run.ref):
            pass
        run.refresh_from_db()


def say(person: User, gate: Gate, verdict: Verdict, **args: Any) -> Decision:
    """Answer what the page of this gate shows."""
    words = "as agreed" if verdict is Verdict.APPROVE else "not like this"
    given = Answer(verdict, digest=gate.digest, round=gate.round, words=words, args=args or None)
    return decide(person, gate.pk, given, HERE)


def people() -> tuple[User, User]:
    """The two reviewers of the demonstration."""
    return User.objects.get(username="marta"), User.objects.get(username="jonas")


@contextmanager
def ground() -> Iterator[Ground]:
    """A ground for the length of a block. Database and broker are those of the environment."""
    with stage() as on:
        vendor = on.start_vendor()
        with override_settings(**on.settings):
            demo_people()
            yield Ground(vendor, people())
            connection.close()
