"""The forms of legal holds: what is to be held, and why; why one is lifted."""

from __future__ import annotations

from typing import Any

from django import forms
from django.conf import settings
from django.contrib.auth.models import User

from approvals import access
from approvals.forms import ReasonForm
from approvals.ledger_query import lasting
from durable import holds
from durable.clock import db_now
from durable.digest import keyed_hash
from durable.errors import Invalid
from durable.models import LegalHold, Subject
from durable.states import HoldScope
from durable.text import quoted

SCOPES = {
    HoldScope.RUN: "One run, by its id",
    HoldScope.SUBJECT: "All about somebody or something",
    HoldScope.SEARCH: "All that a search of the ledger finds",
}
#: Before a keyed hash, which stands for a name that no address should have.
_HASH = "#"


class HoldForm(ReasonForm):
    """What is to be held: a run's id, `customer:ann@example.org`, or a search of the ledger; and why."""

    scope = forms.ChoiceField(choices=[(scope.value, words) for scope, words in SCOPES.items()], label="Hold")
    about = forms.CharField(max_length=2_000, label="What", widget=forms.TextInput)

    field_order = ("scope", "about", "reason")


def put(form: HoldForm, user: User) -> LegalHold:
    """Set the hold that a valid form asks for. Raises what `durable.holds` raises."""
    data, actor = form.cleaned_data, access.actor(user)
    reason = data["reason"]
    if data["scope"] == HoldScope.RUN:
        return holds.set_on_run(data["about"], actor=actor, reason=reason)
    if data["scope"] == HoldScope.SEARCH:
        # A day that passes by means one day for good: the one that it is for who sets the hold.
        return holds.set_on_search(lasting(data["about"], db_now()), actor=actor, reason=reason)
    kind, hash = _subject(data["about"])
    return holds.set_on_subject(kind, hash, actor=actor, reason=reason)


def said(hold: LegalHold) -> str:
    """What is told to who has set a hold: what it means, where that does not stand in what they typed."""
    done = f"Held by legal hold {hold.pk}. Nothing of it is pruned or erased."
    if hold.scope != HoldScope.SEARCH:
        return done
    return f"{done} It holds what {quoted(holds.words(hold).search)} finds, in days of {holds.zone(hold)}."


def _subject(text: str) -> tuple[str, str]:
    """Kind and keyed hash of what was typed: `order:8812`, or `#` and the hash of a subject that is known."""
    if text.startswith(_HASH):
        known = Subject.objects.filter(hash=text.removeprefix(_HASH)).first()
        if known is None:
            raise Invalid("what", "no effect is about this")
        return known.kind, known.hash
    kind, colon, name = (part.strip() for part in text.partition(":"))
    if not (colon and kind and name):
        raise Invalid("what", "name what it is, a colon, and its name: customer:ann@example.org")
    return kind, keyed_hash(kind, name, settings.INTERLOCK_HASH_KEY)


def asked(query: dict[str, str]) -> dict[str, Any]:
    """What the form begins with where an address names something: `run`, `subject` (a keyed hash) or `q`, a search."""
    if query.get("run"):
        return {"scope": HoldScope.RUN.value, "about": query["run"]}
    if query.get("subject"):
        return {"scope": HoldScope.SUBJECT.value, "about": f"{_HASH}{query['subject']}"}
    return {"scope": HoldScope.SEARCH.value, "about": query.get("q", "")} if "q" in query else {}
