"""Stories of agents that have retired: nothing in this code base executes them any more, and their runs have all ended.

One lets a model talk with the customer for a while, each answer billed; the other acts a dozen times in one run.
"""

from __future__ import annotations

from datetime import timedelta

from durable.budget import Budget
from durable.digest import sha256
from durable.money import Money
from local.demodata import desk
from local.demodata.rows import canonical
from local.demodata.story import Story


def _limits(*purses: Money) -> Budget:
    return Budget(steps=100, tokens=200_000, money=purses, deadline=timedelta(hours=72))


#: What each of them could use up.
RETURNS_DESK = _limits(Money(500, "EUR"))
CLAIMS_DESK = _limits(Money(300, "EUR"), Money(100, "KWD"))
STOCK_DESK = _limits()
#: Orders that one run of the stock desk goes through.
ORDERS = 12
_QUESTIONS = (
    "Could you tell me when the parcel arrived, and whether its box was damaged?",
    "Thank you. Is the article still in your hands, and has it been used?",
    "I see two articles in this order. Which of them is your message about?",
    "Our records show that a replacement left us on Tuesday. Did it reach you?",
    "Would a part of the price back be a fair answer, if you keep the article?",
)
_ANSWERS = (
    "It came last week, the box was fine. I noticed it only when I took the article out, there is a mark on one side.",
    "Yes, I have not used it. I can send you a picture if that is of any help to you.",
    "The larger one. The other is as it should be, my neighbour likes it too.",
    "No, nothing has come. I have asked at the post office as well, they know nothing of it.",
    "That would be all right for me, if it does not take another month.",
)


def settle_claim(story: Story) -> None:
    """A conversation of a few turns, then a small refund."""
    ticket = desk.ticket(story)
    story.begin(ticket.input, f"claim-{ticket.order['id']}", "read")
    story.claim()
    desk.read_order(story, ticket)
    story.say("customer", ticket.text)
    story.next("think", {"order": ticket.order})
    for _ in range(1 + min(int(story.chance.expovariate(0.25)), 24)):
        _turn(story)
    _think(story, "The claim is fair: the order says so, and the customer's answers agree with each other.")
    story.next("pay")
    act = desk.refund(story, ticket)
    act.send()
    done = desk.refunded(act, ticket)
    act.close()
    story.next("tell", {"order": ticket.order, "done": done})
    story.say("agent", done)
    story.complete({"done": done, "told": False})


def _turn(story: Story) -> None:
    _think(story, story.chance.choice(_QUESTIONS))
    story.say("customer", story.chance.choice(_ANSWERS))
    story.next("think")


def _think(story: Story, words: str) -> None:
    """One call of the model, and what it says."""
    asked = sha256(canonical({"run": story.ref, "visit": story.visit}).encode())
    answer = {"role": "agent", "content": words}
    story.freeze("model:claims_model", asked, answer, tokens=story.chance.randrange(400, 3_000))
    story.say("agent", words)


def restocked(story: Story) -> None:
    """A dozen replacements set aside, one after the other."""
    tickets = [desk.ticket(story, wants="replacement", part=part) for part in range(1, ORDERS + 1)]
    names = [ticket.order["id"] for ticket in tickets]
    story.begin({"orders": names}, f"list-{names[0]}", "set_aside")
    story.claim()
    for left, ticket in reversed([*enumerate(tickets)]):
        act = desk.reservation(story, ticket)
        act.send()
        story.say("agent", desk.reserved(act, ticket))
        act.close()
        if left:
            story.next("set_aside", {"orders": names} if left == ORDERS - 1 else None)
    story.complete({"set_aside": ORDERS})
