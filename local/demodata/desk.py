"""The refund desk at work in a story: its tickets, its steps, and what it asks for."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from approvals.policy import LIMIT
from durable.adapters.mail import message_id
from durable.digest import sha256
from durable.money import from_minor
from durable.states import EffectClass
from local import tickets
from local.demodata.acts import Act, Wanted
from local.demodata.gates import Gate
from local.demodata.rows import canonical
from local.demodata.story import Story
from local.tickets import SCENES

IRREVERSIBLE = "it can be neither replayed safely nor undone"
#: Currencies with what a small refund comes to at most, in minor units, and a large one (none where that is too much).
_SMALL = {"EUR": (250, 10_000), "KWD": (1_500, 90_000)}
_LARGE = {"EUR": (10_001, 45_000), "JPY": (1_200, 48_000)}


@dataclass
class Ticket:
    """What a customer wants, and their order as the shop knows it."""

    order: dict[str, Any]
    text: str
    wants: str
    minor: int
    currency: str
    writes_back: bool

    @property
    def input(self) -> dict[str, Any]:
        """The run's input, with all fields that the agent's own schema fills in."""
        reply_to = self.order["email"] if self.writes_back else None
        given = {"amount": None, "currency": None, "reply_to": reply_to}
        return {"order": self.order["id"], "wants": self.wants, "text": self.text, **given}


def ticket(
    story: Story, *, wants: str = "money", large: bool = False, writes_back: bool = False, part: int = 0
) -> Ticket:
    """Let a customer complain about an order; no two stories are about the same one, nor two parts of one."""
    chance = story.chance
    scene = chance.choice(SCENES)
    share = chance.random()
    currency = ("JPY" if share > 0.85 else "EUR") if large else ("KWD" if share > 0.93 else "EUR")
    low, high = (_LARGE if large else _SMALL)[currency]
    minor = chance.randrange(low, high)
    customer, email = tickets.customer(chance)
    order = {
        "id": f"{40_000_000 + story.id}{part or ''}",
        "customer": customer,
        "email": email,
        "charge": f"ch_{chance.getrandbits(80):020x}",
        "amount": format(from_minor(minor, currency), "f"),
        "currency": currency,
        "items": [{"sku": scene.sku, "quantity": scene.quantity}],
        "status": "delivered",
    }
    return Ticket(order, scene.text, wants, minor, currency, writes_back)


def begin(story: Story, ticket: Ticket) -> None:
    """Start the run about a ticket."""
    story.begin(ticket.input, f"ticket-{ticket.order['id']}", "triage")


def triage(story: Story, ticket: Ticket) -> None:
    """Claim the run, read the order, and go on to what the ticket wants."""
    story.claim()
    read_order(story, ticket)
    story.say("customer", ticket.text)
    story.next("replace" if ticket.wants == "replacement" else "pay", {"order": ticket.order})


def read_order(story: Story, ticket: Ticket) -> None:
    """Freeze the order as the shop has it."""
    asked = {"tool": "fetch_order", "version": 1, "vendor": "shop", "account": ""}
    args = {"args": {"order": ticket.order["id"]}}
    story.freeze(
        "fetch_order", sha256(canonical(asked | args).encode()), ticket.order, fresh=timedelta(minutes=10)
    )


def refund(story: Story, ticket: Ticket) -> Act:
    """Ask for the refund of a ticket."""
    order, currency = ticket.order, ticket.currency
    args = {name: order[name] for name in ("customer", "charge", "amount", "currency")}
    args |= {"order": order["id"], "reason": _reason(story)}
    subjects = {"order": order["id"], "customer": order["customer"]}
    once = canonical({"tool": "refund", "args": {"order": order["id"]}})
    explain(story, ticket)
    return Act(
        story,
        Wanted(
            "refund",
            EffectClass.IDEMPOTENT,
            "stripe",
            args,
            subjects,
            ticket.minor,
            currency,
            once,
            order["charge"],
            args["reason"],
        ),
    )


def _reason(story: Story) -> str:
    """Why the money goes back: some were charged twice, a few by somebody else."""
    if story.id % 37 == 5:
        return "fraudulent"
    return "duplicate" if story.id % 11 == 3 else "requested_by_customer"


def explain(story: Story, ticket: Ticket) -> None:
    """Say what the customer asks for, as the step does each time that it is executed."""
    order = ticket.order
    story.say(
        "agent", f"The customer asks for {order['amount']} {ticket.currency} of order {order['id']} back."
    )
    story.say("agent", f"They write: {ticket.text}")


def pay_small(story: Story, ticket: Ticket, *, adopted: bool = False) -> str:
    """The step that makes a small refund, whose answer may get lost; returns what the customer is told."""
    act = refund(story, ticket)
    act.send()
    if adopted:
        act.no_answer("the connection was lost before the answer came")
    done = refunded(act, ticket, adopted=adopted)
    act.close()
    story.next("tell", {"order": ticket.order, "done": done})
    return done


def refund_gate(story: Story, act: Act, ticket: Ticket) -> Gate:
    """Ask people about a large refund, with what the charge came to when it was drafted."""
    order = ticket.order
    sums = {"captured": order["amount"], "refundable": order["amount"]}
    nothing = format(from_minor(0, ticket.currency), "f")
    facts = {"charge": order["charge"], "currency": ticket.currency, "status": "succeeded", "disputed": "no"}
    above = f"an amount above {LIMIT} {ticket.currency} needs a person"
    return Gate(act, above, said=_spoken(story), facts=facts | sums | {"refunded": nothing})


def refunded(act: Act, ticket: Ticket, *, adopted: bool = False) -> str:
    """Let the refund have come through; returns what the customer is told."""
    name = f"re_{act.story.chance.getrandbits(80):020x}"
    facts = {"status": "succeeded", "charge": ticket.order["charge"], "reason": act.wanted.reason}
    proof = act.applied(name, facts | {"amount_minor": ticket.minor}, adopted=adopted)
    return f"We have refunded {proof['amount']} {proof['currency']} ({name})."


def reservation(story: Story, ticket: Ticket) -> Act:
    """Ask for a replacement to be set aside."""
    item = ticket.order["items"][0]
    args = {"order": ticket.order["id"], "sku": item["sku"], "quantity": item["quantity"]}
    subjects = {"order": ticket.order["id"]}
    wanted = Wanted(
        "reserve_replacement", EffectClass.COMPENSABLE, "stock", args, subjects, target=item["sku"]
    )
    return Act(story, wanted)


def reserved(act: Act, ticket: Ticket) -> str:
    """Let the goods have been set aside; returns what the customer is told."""
    name, item = f"rsv_{act.story.chance.getrandbits(64):016x}", ticket.order["items"][0]
    act.applied(name, {"quantity": item["quantity"], "order": ticket.order["id"], "status": "reserved"})
    return f"We have set {item['quantity']} x {item['sku']} aside for you ({name})."


def letter(story: Story, ticket: Ticket, done: str) -> Act:
    """Ask for the customer to be written to."""
    order = ticket.order
    story.say("agent", done)
    args = {"to": order["email"], "subject": f"Your order {order['id']}", "body": done}
    wanted = Wanted(
        "send_email",
        EffectClass.IRREVERSIBLE,
        "mail",
        args,
        {"customer": order["email"]},
        target=order["email"],
    )
    return Act(story, wanted)


def letter_gate(story: Story, act: Act) -> Gate:
    """Ask people about a letter."""
    return Gate(act, IRREVERSIBLE, said=_spoken(story))


def written(act: Act) -> None:
    """Let the letter have been taken by the mail server."""
    act.applied(message_id(act.key), {"subject_length": len(act.wanted.args["subject"])})


def _spoken(story: Story) -> str:
    """What the agent has said in the step so far."""
    return "\n".join(content for _, content in story.said)
