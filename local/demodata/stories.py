"""Stories that have ended. Each function tells one run of the refund desk from its start to its end."""

from __future__ import annotations

from datetime import timedelta

from durable.journal import ENGINE
from durable.states import AttemptEnd, Attention, EffectClass, EventKind, RunState, WaitState
from local.demodata import desk
from local.demodata.acts import Act, Wanted
from local.demodata.desk import Ticket
from local.demodata.gates import TOO_LATE, Gate, moved
from local.demodata.story import OpenWait, Story

REVIEWERS, OPERATOR = ("marta", "jonas"), "sven"
_REASONS = (
    "The photo shows another article than the one ordered.",
    "Refunded by telephone already, see the shop's notes.",
    "Please find out first whether the parcel came back.",
)


def _decided(story: Story, gate: Gate, *, yes: bool = True) -> str:
    """Rest until a person answers, within twenty hours, and let the run be taken up again. Returns why it was a no."""
    story.suspend()
    story.now += timedelta(hours=min(story.chance.expovariate(0.5), 20))
    person = story.chance.choice(REVIEWERS)
    words = "" if yes else story.chance.choice(_REASONS)
    if yes:
        gate.approved(person)
    else:
        gate.rejected(person, words)
    story.claim()
    return words


def asked_for_much(story: Story) -> tuple[Ticket, Act, Gate]:
    """Bring a run to where it wants a large refund, and people are asked."""
    ticket = desk.ticket(story, large=True)
    desk.begin(story, ticket)
    desk.triage(story, ticket)
    act = desk.refund(story, ticket)
    return ticket, act, desk.refund_gate(story, act, ticket)


def _not_refunded(story: Story, ticket: Ticket, act: Act, words: str) -> None:
    """Go on after a no, whoever or whatever said it, to the end."""
    act.close()
    desk.explain(story, ticket)
    done = "We have looked into it and can't refund this order."
    story.next("tell", {"order": ticket.order, "done": done, "refused": words})
    _tell(story, ticket, done)


def _tell(story: Story, ticket: Ticket, done: str, *, yes: bool = True) -> None:
    """The last step: say what was done, and write to the customer where they gave an address."""
    if not ticket.writes_back:
        story.say("agent", done)
        story.complete({"done": done, "told": False})
        return
    act = desk.letter(story, ticket, done)
    gate = desk.letter_gate(story, act)
    _decided(story, gate, yes=yes)
    if yes:
        gate.used()
        desk.written(act)
    story.say("agent", done)
    act.close()
    story.complete({"done": done, "told": yes})


def _pay_large(story: Story, ticket: Ticket) -> str:
    """The step that makes a large refund, after people's yes. Returns what was done."""
    act = desk.refund(story, ticket)
    gate = desk.refund_gate(story, act, ticket)
    _decided(story, gate)
    desk.explain(story, ticket)
    gate.used()
    done = desk.refunded(act, ticket)
    act.close()
    story.next("tell", {"order": ticket.order, "done": done})
    return done


def _refunds(
    story: Story, *, large: bool = False, writes_back: bool = False, yes: bool = True, adopted: bool = False
) -> None:
    ticket = desk.ticket(story, large=large, writes_back=writes_back)
    desk.begin(story, ticket)
    desk.triage(story, ticket)
    done = _pay_large(story, ticket) if large else desk.pay_small(story, ticket, adopted=adopted)
    _tell(story, ticket, done, yes=yes)


def refunded(story: Story) -> None:
    """A small refund that nobody had to be asked about."""
    _refunds(story)


def refunded_large(story: Story) -> None:
    """A large refund that a person let out."""
    _refunds(story, large=True)


def refunded_told(story: Story) -> None:
    """A small refund, and a letter that a person let out."""
    _refunds(story, writes_back=True)


def refunded_untold(story: Story) -> None:
    """A small refund, and a letter that a person refused."""
    _refunds(story, writes_back=True, yes=False)


def _replace(story: Story, *, writes_back: bool = False) -> tuple[Act, str]:
    ticket = desk.ticket(story, wants="replacement", writes_back=writes_back)
    desk.begin(story, ticket)
    desk.triage(story, ticket)
    act = desk.reservation(story, ticket)
    act.send()
    done = desk.reserved(act, ticket)
    act.close()
    story.next("tell", {"order": ticket.order, "done": done})
    _tell(story, ticket, done)
    return act, done


def replaced(story: Story) -> None:
    """Goods set aside."""
    _replace(story)


def replaced_told(story: Story) -> None:
    """Goods set aside, and a letter that a person let out."""
    _replace(story, writes_back=True)


def refused(story: Story) -> None:
    """A large refund that a person refused."""
    ticket, act, gate = asked_for_much(story)
    _not_refunded(story, ticket, act, _decided(story, gate, yes=False))


def adopted(story: Story) -> None:
    """A refund whose answer was lost, and that a look-up found."""
    _refunds(story, adopted=True)


def given_up(story: Story) -> None:
    """A ticket about an order that was cancelled: the agent gives up."""
    ticket = desk.ticket(story)
    ticket.order["status"] = "cancelled"
    desk.begin(story, ticket)
    story.claim()
    desk.read_order(story, ticket)
    story.error = f"order {ticket.order['id']} was cancelled; there is nothing to give back"
    story.let_go(AttemptEnd.ENDED)
    story.claim()
    story.event(EventKind.RUN_FAILED, actor=story.worker)
    story.end(RunState.FAILED)


def _cancel(story: Story) -> None:
    """Let an operator cancel a run at rest, and a worker turn to that."""
    story.pass_time(600, 36_000)
    words = "The customer has changed their mind."
    body = {"undo": False, **moved(RunState.SUSPENDED, RunState.CANCELLING)}
    story.event(EventKind.CANCEL_ASKED, actor=OPERATOR, words=words, body=body)
    story.claim()


def _cancelled(story: Story, wait: OpenWait | None = None) -> None:
    if wait is not None:
        story.note_wait(wait, WaitState.WITHDRAWN, by=ENGINE)
    story.event(EventKind.CANCELLED, actor=story.worker)
    story.end(RunState.CANCELLED)


def cancelled(story: Story) -> None:
    """A run that was cancelled while people were asked."""
    _, act, gate = asked_for_much(story)
    story.suspend()
    _cancel(story)
    gate.withdrawn("the run is cancelling")
    act.close()
    _cancelled(story)


def expired(story: Story) -> None:
    """A large refund that nobody decided on in time: nothing was refunded, and the customer is told so."""
    ticket, act, gate = asked_for_much(story)
    story.suspend()
    gate.expired()
    story.claim()
    _not_refunded(story, ticket, act, TOO_LATE)


def tries(story: Story, words: str, times: int = 3) -> OpenWait:
    """Let a step fail until its retries are spent; the run is stuck then."""
    story.error = words
    for _ in range(times):
        story.let_go(AttemptEnd.RETRYING)
        story.tries += 1
        story.claim()
    wait = story.attention(Attention.RETRIES, words)
    story.let_go(AttemptEnd.SUSPENDED)
    story.state = RunState.SUSPENDED
    return wait


def charged_back(story: Story) -> None:
    """A refund that the vendor refused for good; an operator cancelled the run."""
    ticket = desk.ticket(story)
    desk.begin(story, ticket)
    desk.triage(story, ticket)
    act = desk.refund(story, ticket)
    act.send()
    act.failed("charge_already_refunded", "The charge has been refunded already.")
    act.close()
    story.said.clear()
    words = f"step pay failed: EffectFailed: “{act.key}: The charge has been refunded already.”"
    wait = tries(story, words)
    _cancel(story)
    _cancelled(story, wait)


def _compensate(story: Story) -> None:
    story.pass_time(3_600, 36_000)
    words, body = "The customer keeps the old one.", moved(RunState.COMPLETED, RunState.COMPENSATING)
    story.event(EventKind.COMPENSATION_ASKED, actor=OPERATOR, words=words, body=body)
    story.claim()


def compensated(story: Story) -> None:
    """Goods set aside, and put back later."""
    act, _ = _replace(story)
    _compensate(story)
    wanted = act.wanted
    undo = Wanted("reserve_replacement", EffectClass.IDEMPOTENT, "stock", wanted.args, wanted.subjects)
    back = Act(story, undo, undo_of=act)
    back.send()
    back.applied(f"cnl_{story.chance.getrandbits(64):016x}", {"status": "cancelled", **wanted.args})
    back.close()
    story.event(EventKind.COMPENSATED, actor=story.worker, body={"undone": 1, "of": 1})
    story.end(RunState.COMPENSATED)


def partly_compensated(story: Story) -> None:
    """A refund that was to be undone, and can't be."""
    _refunds(story)
    _compensate(story)
    key = f"{story.ref}:pay"
    story.event(EventKind.NOT_UNDOABLE, key, actor=story.worker, body={"how": "not undoable"})
    body = {"undone": 0, "of": 1}
    story.event(EventKind.PARTLY_COMPENSATED, actor=story.worker, body=body)
    story.end(RunState.PARTLY_COMPENSATED)
