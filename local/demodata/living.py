"""Stories that have not ended: they wait for people, as real runs of the refund desk that real people can answer."""

from __future__ import annotations

from durable.states import EventKind, RunState, WaitKind
from local.demodata import desk
from local.demodata.acts import Act
from local.demodata.gates import Gate
from local.demodata.stories import OPERATOR, REVIEWERS, asked_for_much, tries
from local.demodata.story import Story


def _asked(story: Story) -> tuple[Act, Gate]:
    _, act, gate = asked_for_much(story)
    story.suspend()
    return act, gate


def waits_for_yes(story: Story) -> None:
    """A large refund that nobody has decided on yet."""
    act, gate = _asked(story)
    gate.left_open()
    act.close()


def asked_back(story: Story) -> None:
    """A large refund about which a reviewer wants to know more."""
    act, gate = _asked(story)
    story.pass_time(60, 3_600)
    words = "Has the customer sent the article back?"
    gate.asked_back(story.chance.choice(REVIEWERS), words)
    act.close()


def letter_waits(story: Story) -> None:
    """A small refund, and a letter about it that nobody has decided on yet."""
    ticket = desk.ticket(story, writes_back=True)
    desk.begin(story, ticket)
    desk.triage(story, ticket)
    done = desk.pay_small(story, ticket)
    act = desk.letter(story, ticket, done)
    gate = desk.letter_gate(story, act)
    story.suspend()
    gate.left_open()
    act.close()


def in_doubt(story: Story) -> None:
    """Goods that may have been set aside or not: the answer was lost, and the warehouse shows nothing of ours."""
    ticket = desk.ticket(story, wants="replacement")
    desk.begin(story, ticket)
    desk.triage(story, ticket)
    act = desk.reservation(story, ticket)
    act.send()
    act.no_answer("the connection was lost before the answer came")
    story.pass_time(60, 120)
    act.looked_up("absent")
    act.in_doubt("The vendor honours no key, so repeating could act twice, and shows nothing of ours.")
    act.close()
    story.suspend()


def stuck(story: Story) -> None:
    """An order that can't be read: the retries are spent."""
    ticket = desk.ticket(story)
    desk.begin(story, ticket)
    story.claim()
    story.note_wait(tries(story, "step triage failed: CannotSay: “the shop does not answer”"))


def held(story: Story) -> None:
    """A run that an operator has stopped before it began."""
    ticket = desk.ticket(story)
    desk.begin(story, ticket)
    story.pass_time(1, 5)
    story.note_wait(story.wait(WaitKind.HOLD, "hold", ("", 1, 0), detail={"by": OPERATOR}))
    body = {"before": {"held": False}, "after": {"held": True}}
    story.event(EventKind.HELD, actor=OPERATOR, words="The shop is counting its stock.", body=body)
    story.held, story.state = True, RunState.SUSPENDED
