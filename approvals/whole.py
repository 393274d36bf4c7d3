"""Proof that a person was served all of a long payload, which a page folds at first.

The rest of it is served by a request of its own, and what answers that carries a signature over the person, the gate,
its round and the digest. A yes, and an edit, bring it along: who says yes to a long payload has been sent all of it.
"""

from __future__ import annotations

from django.contrib.auth.models import User
from django.core import signing

from approvals import differences, payload
from approvals.errors import Unread
from approvals.models import Gate
from approvals.states import Verdict
from durable.digest import canonical
from durable.errors import InterlockError

_SALT = "interlock.whole"
#: What becomes of the payload by these is in the person's name. Whoever says no, or asks, need not have read it all.
_NEEDS_ALL = frozenset({Verdict.APPROVE, Verdict.EDIT})


def long(gate: Gate) -> bool:
    """Whether a page folds the gate's payload. What can't be read at all is no matter of its length."""
    try:
        shown = differences.read_public(gate.payload, gate.effect.run)
    except InterlockError:
        return False
    return bool(payload.read(canonical(shown)).rest)


def proof(person: User, gate: Gate) -> str:
    """Return the proof, for an answer that serves all of the payload to this person."""
    return signing.Signer(salt=_SALT).signature(_claim(person, gate))


def proven(person: User, gate: Gate, given: str) -> bool:
    """Whether this is the proof for this person and this very payload."""
    try:
        signing.Signer(salt=_SALT).unsign(f"{_claim(person, gate)}:{given}")
    except signing.BadSignature:
        return False
    return True


def check(person: User, gate: Gate, verdict: Verdict, given: str) -> None:
    """Raise Unread where a yes or an edit is about a long payload of which the person was served a part at most."""
    if verdict in _NEEDS_ALL and long(gate) and not proven(person, gate, given):
        raise Unread(
            "Nothing was recorded: the payload is long, and its end was not shown to you yet."
            " Open all of it first; then decide."
        )


def _claim(person: User, gate: Gate) -> str:
    return f"{person.pk} {gate.pk} {gate.round} {gate.digest}"
