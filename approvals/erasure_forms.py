"""What the pages of erasures post: whom to look for, and that what was found is to be erased."""

from __future__ import annotations

from typing import Any

from django import forms

from approvals.fields import SeenField, plain_lines
from approvals.queries.subjects import kinds
from durable.concerned import Called
from durable.digest import normal
from durable.models import Subject
from durable.states import EraseReason

#: Names of one person; more is a list of people.
MOST = 20


class LookForm(forms.Form):
    """By which names somebody is to be found, a line each: `customer:ann@example.org`, or a name of whatever kind."""

    names = forms.CharField(
        max_length=4_000,
        strip=True,
        error_messages={"required": "give at least one name, such as customer:ann@example.org"},
        widget=forms.Textarea,
    )
    thoroughly = forms.BooleanField(required=False)

    def clean_names(self) -> list[Called]:
        """The names with their kinds."""
        lines = [line.strip() for line in plain_lines(self.cleaned_data["names"]).split("\n") if line.strip()]
        if len(lines) > MOST:
            raise forms.ValidationError(f"give at most {MOST} names, all of one person")
        return called(lines)


class EraseForm(LookForm):
    """The same names, what was shown for them, why, and the first name typed once more."""

    seen = SeenField(24)
    reason = forms.ChoiceField(
        choices=[(one.value, one.value) for one in EraseReason],
        error_messages={"required": "say why", "invalid_choice": "say why: choose one of the list"},
    )
    reference = forms.CharField(required=False, max_length=60)
    others = forms.ChoiceField(required=False, choices=[("erase", ""), ("leave", "")])
    confirmed = forms.CharField(
        error_messages={"required": "type the first name once more: nobody can take this back"}
    )

    def clean(self) -> dict[str, Any]:
        """Whoever confirms has typed the name."""
        data = super().clean() or {}
        found = data.get("names")
        if found and "confirmed" in data and normal(data["confirmed"]) != normal(found[0].text):
            self.add_error(
                "confirmed", "what you typed once more is not the first name; nobody can take this back"
            )
        return data


def called(lines: list[str]) -> list[Called]:
    """Names as they were typed, with their kinds: of a name without one, every kind under which something is filed."""
    known, found = kinds(), list[Called]()
    for line in lines:
        kind, _, text = line.partition(":")
        if kind.strip().lower() in known and text.strip():
            found.append(Called(kind.strip().lower(), text.strip()))
            continue
        any_kind = [Called(one, line) for one in known]
        filed = set(
            Subject.objects.filter(hash__in=[one.hash for one in any_kind]).values_list("hash", flat=True)
        )
        found += [one for one in any_kind if one.hash in filed] or any_kind[:1]
    return list(dict.fromkeys(found))
