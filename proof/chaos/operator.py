"""The operator: holds, releases, cancels and compensates some runs, and settles whatever waits for a person."""

from __future__ import annotations

import random
from decimal import Decimal
from pathlib import Path

from django.db import Error, connection

from approvals.models import Gate
from approvals.states import GateState
from durable import stops
from durable.adapters.mail import message_id
from durable.errors import Conflict
from durable.models import Run, Stop, Wait
from durable.states import UNSETTLED, WaitKind, WaitState
from local.vendor import Vendor, VendorAway
from proof.chaos.notes import Notes
from proof.chaos.people import AWAY, Person, command, verdict
from proof.chaos.starter import Starter

#: Questions that are answered in one turn.
_AT_ONCE = 6
#: Tools that a stop order is given for, now and then.
_STOPPED = ("give_back", "crowd_reserve", "refund")


class Operator(Person):
    """Knows from the database what waits for him (as from a board); acts through the pages alone."""

    pace = 0.5

    def __init__(
        self,
        name: str,
        address: str,
        notes: Notes,
        chance: random.Random,
        starter: Starter,
        vendor: Vendor,
        mails: Path,
    ) -> None:
        super().__init__(name, address, notes, chance)
        self.starter, self.vendor, self.mails = starter, vendor, mails
        self.only_settle = False

    def turn(self) -> None:
        try:
            if not self.only_settle:
                self._steer()
            self._settle()
        except Conflict:
            return
        except (Error, VendorAway):
            connection.close()

    def _steer(self) -> None:
        """One command to one of the newest runs. Only the exchange is cancelled: its tools say soon what became."""
        if not self.starter.refs:
            return
        ref, agent = self.chance.choice(list(self.starter.refs))
        wish = self.chance.random()
        if wish < 0.25:
            command(self, ref, "holds")
        elif wish < 0.5 and agent == "Exchange":
            command(self, ref, "cancellations", **({"undo": "on"} if self.chance.random() < 0.5 else {}))
        elif wish < 0.75 and agent == "Exchange":
            command(self, ref, "compensations")
        elif wish < 0.85 and agent == "RefundDesk":
            command(self, ref, "forks", version="2")
        elif wish < 0.9 and not Stop.objects.filter(lifted_at=None).exists():
            order = stops.order("tool", self.chance.choice(_STOPPED), actor=self.name, reason="to see")
            self.notes.add("stop", stop=order.pk)

    def _settle(self) -> None:
        held = Run.objects.filter(held=True).order_by("changed_at")
        for ref in list(held.values_list("ref", flat=True)[:_AT_ONCE]):
            if self.only_settle or self.chance.random() < 0.3:
                command(self, ref, "releases")
        for order in Stop.objects.filter(lifted_at=None):
            if self.only_settle or self.chance.random() < 0.1:
                stops.lift(order.pk, actor=self.name, reason="seen enough")
                self.notes.add("lifted", stop=order.pk)
        for gate in Gate.objects.filter(state=GateState.ASKED_BACK.value)[:_AT_ONCE]:
            self._explain(gate)
        asked = Wait.objects.filter(kind=WaitKind.ATTENTION.value, state=WaitState.OPEN.value)
        for wait in list(asked.select_related("run", "effect").order_by("?")[:_AT_ONCE]):
            try:
                self._answer(wait)
            except AWAY:
                continue

    def _explain(self, gate: Gate) -> None:
        """Answer what a reviewer wants to know, on the gate's page."""
        page = self.see(f"/gates/{gate.pk}/")
        form = next((form for form in page.forms if form.action == f"/gates/{gate.pk}/answers/"), None)
        if form is not None:
            self.tell(page, form, "answer", {"reason": "they did"}, gate=gate.pk)

    def _answer(self, wait: Wait) -> None:
        """An effect gets a verdict; a step that was tried in vain is tried again."""
        effect = wait.effect
        if effect is None or (effect.state not in UNSETTLED and not wait.detail.get("alarm")):
            if not command(self, wait.run.ref, "retries") and effect is not None:
                verdict(self, effect.key, self.find)
            return
        if not self._shown_otherwise(wait, effect.key):
            verdict(self, effect.key, self.find)

    def _shown_otherwise(self, wait: Wait, key: str) -> bool:
        """Whether the evidence says another amount than the book: then the vendor's word is not to be confirmed.

        The sweeper asks the vendor again, and finds what it has really done.
        """
        shown = {str(one.get("id")): one.get("amount") for one in wait.detail.get("candidates", [])}
        booked = {str(one["id"]): one["amount"] for one in self.vendor.book() if one["key"] == key}
        both = [(shown[name], booked[name]) for name in shown.keys() & booked.keys()]
        return any(Decimal(one or 0) != Decimal(two or 0) for one, two in both)

    def find(self, key: str) -> str | None:
        """The id of what moved under a key: in the vendor's book, or among the letters. Raises VendorAway."""
        for one in self.vendor.book():
            if one["key"] == key:
                return str(one["id"])
        name = message_id(key)
        folder = self.mails.glob("*") if self.mails.exists() else ()
        return name if any(name in letter.read_text(errors="replace") for letter in folder) else None
