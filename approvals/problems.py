"""What is wrong with what somebody gave, in the words of the page on which they gave it.

A form's fields and the engine's `Invalid` have names of the code. Pages name a field as it is called where it is filled
in; what is ticked, or sent along unseen, has no name there, and its rule is a sentence of its own.
"""

from __future__ import annotations

from django import forms

from durable.errors import Invalid

#: How pages call the fields that people fill in, by their names in forms and in `Invalid`.
LABELS: dict[str, str] = {
    "reason": "Reason",
    "words": "Reason",
    "state": "Working state",
    "input": "Input",
    "to": "Go on at step",
    "receipt": "Receipt",
    "receipt_id": "Receipt",
    "amount": "Amount",
    "owner": "Who looks again",
    "within": "When somebody looks again",
    "name": "Name",
    "q": "Query",
    "account": "Account",
    "first": "From",
    "from": "From",
    "last": "Up to and with",
    "names": "Names",
    "reference": "Number of the request",
    "scope": "Hold",
    "about": "What",
    "what": "What",
    "subject": "What",
    "search": "What",
    "zone": "Time zone",
    "form": "Form of the file",
    "checkpoints": "Checkpoints in between",
    "frozen": "Frozen results",
    "messages": "Conversations",
    "payloads": "Payloads and the words of people",
    "ledger": "Ledger",
}
#: What nobody fills in: it is ticked or chosen, stands in an address, or is sent along.
UNNAMED = frozenset(
    {
        "act", "actor", "again", "all", "args", "candidate", "confirmed", "difference", "digest", "gate", "of",
        "others", "round", "run", "seen", "shown", "thoroughly", "undo", "undoes", "verdict", "version", "whole",
    }
)  # fmt: skip


def of_form(form: forms.Form) -> str:
    """The first thing that is wrong with a form, for a sentence that goes on: without a full stop."""
    for name, errors in form.errors.items():
        label = form.fields[name].label if name in form.fields else ""
        called = str(label or "").removesuffix(" (JSON)") or LABELS.get(name, "")
        return _put(called, "", str(errors[0]))
    return ""


def told(refusal: Exception, **labels: str) -> str:
    """What a refusal says, for a sentence that goes on: without a full stop. `labels` are those of one page alone."""
    if not isinstance(refusal, Invalid):
        return str(refusal).rstrip(".")
    head, _, rest = refusal.field.partition(".")
    if head == "args":  # an argument is called on the page what its tool calls it
        return _put(rest, "", refusal.rule)
    known = LABELS | labels
    return _put("" if head in UNNAMED else known.get(head, head), rest, refusal.rule)


def _put(called: str, within: str, rule: str) -> str:
    return ": ".join(part for part in (called, within, rule.rstrip(".")) if part)
