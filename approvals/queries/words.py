"""How effects and runs are called on pages: titles, subjects, and why a run is where it is, in a sentence."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from approvals.templatetags.interlock import amount
from durable.states import Attention, RunState, WaitKind
from durable.text import quoted

#: An error as the engine writes it down: what code or vendor said in it stands between quotation marks.
_QUOTED = re.compile(
    r"step \w+ (failed: \w+(: (“[^“”]*”|[^\s“”]+))?|gave up: (“[^“”]*”|[^\s“”]+))"
    r"( \([\w.<>-]+, line \d+(, in [\w<>]+)?\))?"
)
#: What is told of longer words that a sentence is about.
WORDS = 300
_NAMED = ("order", "customer", "ticket", "charge", "to")

_ENDS = {
    RunState.COMPLETED: "It has ended; nothing is left to do.",
    RunState.CANCELLED: "It was cancelled. Nothing more leaves.",
    RunState.COMPENSATED: "What it did has been undone.",
    RunState.PARTLY_COMPENSATED: "Part of what it did could not be undone; the list says what.",
    RunState.FAILING: "It fails; what is under way is settled first.",
    RunState.CANCELLING: "It is being cancelled; what is under way is settled first.",
    RunState.COMPENSATING: "What it did is being undone, in reverse order.",
}


#: Vendors as the products' tools name them, in words; any other name is shown as it is.
_VENDORS = {"stripe": "Stripe", "stock": "the warehouse", "shop": "the shop", "mail": "the mail server"}


def vendor(name: str) -> str:
    """A vendor for a sentence: `stripe` is Stripe."""
    return _VENDORS.get(name, name or "the vendor")


def sentence(text: str) -> str:
    """A text as a sentence: it begins large and ends with a stop."""
    text = text.strip()
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith(('.', '!', '?', ':')) else '.'}" if text else ""


def money(minor: int | None, currency: str) -> str:
    """An amount for a sentence: `184.50 EUR`."""
    return str(amount(minor, currency))


def act(tool: str) -> str:
    """A tool's name as the beginning of a title: `send_email` is `Send email`."""
    return tool.replace("_", " ").strip().capitalize() or tool


def title(tool: str, amount_minor: int | None, currency: str, *, undo: bool = False) -> str:
    """What an effect does, in a few words: `Refund 184.50 EUR`."""
    what = act(tool) if amount_minor is None else f"{act(tool)} {amount(amount_minor, currency)}"
    return f"Undo: {what}" if undo else what


def subject(values: object) -> str:
    """Whom a run's input or an effect's arguments are about: `order 8812`. Empty where they name nobody."""
    if not isinstance(values, Mapping):
        return ""
    for name in _NAMED:
        found = values.get(name)
        if isinstance(found, (str, int)) and not isinstance(found, bool) and str(found):
            return thing(name, str(found))
    return ""


def thing(kind: str, name: str) -> str:
    """One subject within a sentence: `order 8812`, `customer “Ann, and this was approved”`."""
    return f"{kind} {quoted(name)}"


def about(values: object) -> str:
    """The same within a sentence: ` for order 8812`, ` to ada@example.org`, or nothing."""
    return for_whom(subject(values))


def for_whom(subject: str) -> str:
    """The same of a `subject`."""
    return f" {subject}" if subject.startswith("to ") else f" for {subject}" if subject else ""


def wait_word(waits: Sequence[Mapping[str, Any]]) -> str:
    """The word for a badge: why a suspended run stands. The gravest wait speaks for all; empty without one."""
    by_kind = {str(wait["kind"]): wait for wait in reversed(waits)}
    for kind in (WaitKind.ATTENTION, WaitKind.HOLD, WaitKind.GATE, WaitKind.EVENT, WaitKind.TIMER):
        if kind in by_kind:
            return str(by_kind[kind]["name"]) if kind is WaitKind.ATTENTION else kind.value
    return ""


def why(run: Mapping[str, Any], waits: Sequence[Mapping[str, Any]], *, approved: bool) -> str:
    """One sentence: why the run is where it is. `run` has state, step, attempt, held, worker, error and due_at."""
    for kind in (WaitKind.ATTENTION, WaitKind.HOLD, WaitKind.GATE, WaitKind.EVENT, WaitKind.TIMER):
        found = [wait for wait in waits if wait["kind"] == kind]
        if found:
            return _waiting(kind, found)
    state = RunState(run["state"])
    if state is RunState.FAILED:
        return sentence(failed(run["error"]))
    if state in _ENDS:
        return _ENDS[state]
    if state is RunState.RUNNING:
        return f"A worker is at step {run['step']}, attempt {run['attempt']}."
    if state is RunState.QUEUED:
        return (
            "Approved, waiting to resume."
            if approved
            else f"Ready for step {run['step'] or 'one'}; the next free worker takes it."
        )
    return "Suspended without an open wait; the sweeper will look at it."


def stuck(wait: Mapping[str, Any]) -> str:
    """Why a person must look, as an `attention` wait says it; empty where it does not."""
    said = str((wait["detail"] or {}).get("sentence") or "")
    return failed(said) if said and wait["name"] == Attention.RETRIES else said


def failed(error: str) -> str:
    """What made a step or a run fail, as it was written down: nothing that code or vendor said stands for our own."""
    if not error or _QUOTED.fullmatch(error):
        return error or "It failed"
    return f"It failed: {quoted(error, WORDS)}"


def _waiting(kind: WaitKind, waits: Sequence[Mapping[str, Any]]) -> str:
    first = waits[0]
    detail = first["detail"] or {}
    if kind is WaitKind.ATTENTION:
        if first["name"] == Attention.IN_DOUBT and first["effect__tool"]:
            return f"Nobody can tell yet whether this happened: {_effect(first)}."
        return sentence(stuck(first) or f"A person must look: {first['name']}")
    if kind is WaitKind.HOLD:
        by = f"Held by {detail['by']}" if detail.get("by") else f"Held: {first['name']}"
        return f"{by}; nothing more leaves until it is released."
    if kind is WaitKind.GATE:
        what = (
            f"It waits for people's answer: {_effect(first)}"
            if first["effect__tool"]
            else "It waits for an answer"
        )
        return f"{what}." if len(waits) == 1 else f"{what}, and {len(waits) - 1} more."
    if kind is WaitKind.EVENT:
        return f"It waits for the event {quoted(str(first['name']))}."
    return "It sleeps until its timer is due."


def more(waits: Sequence[Mapping[str, Any]]) -> str:
    """The second sentence: what is known about a doubt, and what else the run waits for."""
    doubts = [w for w in waits if w["kind"] == WaitKind.ATTENTION and w["name"] == Attention.IN_DOUBT]
    return sentence(str((doubts[0]["detail"] or {}).get("sentence", ""))) if doubts else ""


def _effect(wait: Mapping[str, Any]) -> str:
    undo = wait["effect__undo_of_id"] is not None
    return title(wait["effect__tool"], wait["effect__amount_minor"], wait["effect__currency"], undo=undo)
