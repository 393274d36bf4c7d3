"""The form of a retention policy, and what binds the saving of one to what its person was shown it would delete."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core import signing

from approvals.forms import ReasonForm
from durable.errors import Invalid
from durable.models.retention import LEDGER_FLOOR, MOST_DAYS
from durable.retention import terms
from durable.retention.survey import Survey
from durable.retention.terms import KINDS, Terms

_SALT = "approvals.retention"
#: Seconds for which what was shown may be acted on.
LASTS = 3_600
#: So much more than was shown may go unasked: rows grow old while somebody reads. In rows, and as a share.
_FEW, _SHARE = 1_000, 0.05


def _days(label: str, low: int = 1) -> forms.IntegerField:
    widget = forms.NumberInput(attrs={"placeholder": "for ever", "inputmode": "numeric"})
    return forms.IntegerField(required=False, min_value=low, max_value=MOST_DAYS, label=label, widget=widget)


class TermsForm(forms.Form):
    """Days for each kind; empty is for ever."""

    checkpoints = _days("Checkpoints in between")
    frozen = _days("Frozen results")
    messages = _days("Conversations")
    payloads = _days("Payloads and the words of people")
    ledger = _days("Ledger", LEDGER_FLOOR)

    @property
    def terms(self) -> Terms:
        """What a valid form asks for."""
        return Terms(**{name: self.cleaned_data.get(name) for name in KINDS})

    def clean(self) -> dict[str, Any]:
        """Terms that the database would refuse are refused here, at the field that is wrong."""
        data = super().clean() or self.cleaned_data
        if not self.errors:
            try:
                terms.check(self.terms)
            except Invalid as error:
                self.add_error(error.field if error.field in KINDS else None, error.rule)
        return data


class SaveForm(ReasonForm, TermsForm):
    """Terms to be put into force: why, and what was shown of them."""

    shown = forms.CharField(
        max_length=2_000,
        error_messages={"required": "what you were shown is missing; look at what would go again"},
    )


def sealed(asked: Terms, policy: int, found: Survey) -> str:
    """What was shown, signed: by which policy in force, for which terms, how many rows of what."""
    return signing.dumps({"policy": policy, "terms": asked.plain(), "rows": found.plain()}, salt=_SALT)


def opened(text: str, asked: Terms) -> tuple[int, dict[str, int]]:
    """The policy and the rows that were shown for these terms. Raises Invalid."""
    try:
        found = signing.loads(text, salt=_SALT, max_age=LASTS)
    except signing.SignatureExpired:
        raise Invalid(
            "shown", "what you were shown is over an hour old; look at what would go again"
        ) from None
    except signing.BadSignature:
        raise Invalid(
            "shown", "what you were shown is not what this page was given; look at what would go again"
        ) from None
    if found["terms"] != asked.plain():
        raise Invalid(
            "shown", "what you were shown was for other times than these; look at what would go again"
        )
    return int(found["policy"]), found["rows"]


def grown(shown: dict[str, int], now: Survey) -> bool:
    """Whether markedly more would go than was shown."""
    return any(rows > shown.get(kind, 0) * (1 + _SHARE) + _FEW for kind, rows in now.plain().items())
