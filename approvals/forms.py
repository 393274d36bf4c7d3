"""What pages post: parsed and bounded here, judged by the commands that they call."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django import forms

from approvals.fields import NOT_CHOSEN, NOT_SEEN, SeenField, WordsField, plain_lines
from approvals.queries import alike
from approvals.queries.verdict import AGAIN, HAPPENED, UNDO, VERDICTS
from approvals.states import CHOICES, Verdict
from approvals.visible import suspicious
from durable import tools
from durable.errors import Invalid
from durable.money import parse as parse_money
from durable.text import load_json, mend

_LOCALE = "en-GB"
#: What may be answered to several gates at once: neither edits nor questions are alike.
BULK_CHOICES = (Verdict.APPROVE, Verdict.REJECT)


class DecisionForm(forms.Form):
    """An answer at a gate, with the digest and round that the screen showed, and the proof that it showed all."""

    verdict = forms.ChoiceField(
        choices=[(verdict.value, verdict.value) for verdict in sorted(CHOICES)], error_messages=NOT_CHOSEN
    )
    digest = SeenField(64)
    round = forms.IntegerField(
        min_value=1,
        max_value=2**31 - 1,
        error_messages=NOT_SEEN | dict.fromkeys(("min_value", "max_value"), NOT_SEEN["invalid"]),
    )
    reason = WordsField()
    whole = forms.CharField(required=False, max_length=200)


@dataclass(frozen=True, slots=True)
class Chosen:
    """One gate ticked on a page that showed it in this round, with this digest."""

    pk: int
    round: int
    digest: str


class ChosenField(forms.MultipleChoiceField):
    """The gates that were ticked, each with what the page showed of it: `id.round.digest`."""

    _TOKEN = re.compile(r"([0-9]{1,18})\.([0-9]{1,9})\.([0-9a-f]{64})")

    def validate(self, value: Any) -> None:
        """Any gate may be named here: whether it may be answered, the command says."""
        forms.Field.validate(self, value)
        if len(value) > alike.MOST:  # before any of them is looked for
            raise forms.ValidationError(f"choose at most {alike.MOST} at once")
        if not all(self._TOKEN.fullmatch(token) for token in value) or len(set(value)) < len(value):
            raise forms.ValidationError("choose gates that this page shows, each once")

    def clean(self, value: Any) -> list[Chosen]:
        """Return what was ticked."""
        found = [self._TOKEN.fullmatch(token) for token in super().clean(value)]
        return [Chosen(int(one[1]), int(one[2]), one[3]) for one in found if one is not None]


class BulkForm(forms.Form):
    """One answer for several gates."""

    verdict = forms.ChoiceField(
        choices=[(verdict.value, verdict.value) for verdict in BULK_CHOICES], error_messages=NOT_CHOSEN
    )
    gate = ChosenField(error_messages={"required": "tick the gates that you mean"})
    reason = WordsField()

    def clean(self) -> dict[str, Any]:
        """A rejection hands its reason to the agents."""
        data = super().clean() or self.cleaned_data
        if data.get("verdict") == Verdict.REJECT and not data.get("reason", "").strip():
            self.add_error("reason", "say why: each agent and the record get it")
        return data


class ReasonForm(forms.Form):
    """An operator's command: why."""

    reason = WordsField()


class StatementForm(forms.Form):
    """A statement that somebody asks for: of one account, from a day to a day, both included, in UTC."""

    account = forms.CharField(max_length=400, error_messages={"required": "choose the account"})
    first = forms.DateField(error_messages={"required": "say from which day on"})
    last = forms.DateField(error_messages={"required": "say up to which day"})


class NumbersField(forms.MultipleChoiceField):
    """Numbers of rows that were ticked; whether there are such rows, the command says."""

    def validate(self, value: Any) -> None:
        """Any number may be named here."""
        forms.Field.validate(self, value)

    def clean(self, value: Any) -> list[int]:
        """Return what was ticked; what is no number was not."""
        return [int(one) for one in super().clean(value) if re.fullmatch(r"[0-9]{1,18}", one)]


class ExplanationForm(ReasonForm):
    """Why differences that were ticked are none to worry about."""

    difference = NumbersField(error_messages={"required": "tick the differences that your reason explains"})


class BulkDraftForm(forms.Form):
    """An act on many runs: on those whose boxes are ticked, on `all` that the query finds, or `again` after an act."""

    act = forms.CharField(required=False, max_length=40)
    all = forms.BooleanField(required=False)
    q = forms.CharField(required=False, max_length=500)
    again = forms.IntegerField(required=False, min_value=1, max_value=2**63 - 1)

    def clean(self) -> dict[str, Any]:
        """The ids of the ticked runs, such that a database can look for them: those that no run has are not found."""
        data = super().clean() or self.cleaned_data
        ticked = self.data.getlist("run")[:200] if hasattr(self.data, "getlist") else []
        data["run"] = [mend(ref) for ref in ticked]
        if not data.get("again") and not data.get("act"):
            self.add_error("act", "choose what to do with the runs")
        return data


class RunViewForm(forms.Form):
    """A name for the query of the runs list."""

    name = forms.CharField(max_length=40)
    q = forms.CharField(required=False, max_length=500)


class VerdictForm(ReasonForm):
    """What became of an effect in doubt: the verdict, its evidence, and for "can't tell" who looks again, and when."""

    verdict = forms.ChoiceField(choices=[(word, word) for word in VERDICTS], error_messages=NOT_CHOSEN)
    receipt = forms.CharField(required=False, max_length=255)
    candidate = forms.CharField(required=False, max_length=255)
    amount = forms.CharField(required=False, max_length=40)
    owner = forms.CharField(required=False, max_length=150)
    within = forms.ChoiceField(required=False, choices=AGAIN)
    seen = SeenField(16)
    undoes = SeenField(24)

    def __init__(self, data: Mapping[str, Any], *, currency: str = "") -> None:
        super().__init__(data)
        self.currency = currency
        self.fields["undoes"].required = self.data.get("verdict") == UNDO

    def clean_within(self) -> int:
        """Seconds from now; four hours where nothing is chosen."""
        return int(self.cleaned_data["within"] or AGAIN[1][0])

    def clean_amount(self) -> Decimal | None:
        """What the vendor says moved, where that is another sum than was asked for; None where nothing is typed."""
        text = self.cleaned_data["amount"]
        if not text:
            return None
        if not self.currency:
            raise forms.ValidationError("this moves no money; leave it empty")
        try:
            return parse_money(text, self.currency, _LOCALE)
        except Invalid as error:
            raise forms.ValidationError(error.rule) from error

    def clean(self) -> dict[str, Any]:
        """One receipt, typed or chosen among the candidates; both are accepted only where they are the same."""
        data = super().clean() or self.cleaned_data
        typed, chosen = data.get("receipt", ""), data.pop("candidate", "")
        if data.get("verdict") in (HAPPENED, UNDO) and typed and chosen and typed != chosen:
            self.add_error("receipt", f"you chose {chosen} and typed {typed}; give the one that is the proof")
        data["receipt"] = typed or chosen
        return data


class EditForm(forms.Form):
    """The arguments of an effect, one field each, filled with what stands now. Secrets are empty: empty keeps them.

    A text is taken as typed; what the tool's schema does not know as text is JSON. The tool itself checks the result.
    """

    def __init__(self, tool: str, args: Mapping[str, Any], data: Mapping[str, Any] | None = None) -> None:
        super().__init__(data, auto_id="edit-%s")
        self.tool = tools.get(tool)
        self.args = dict(args)
        for name, value in self.args.items():
            self.fields[f"arg-{name}"] = self._field(name, value)
        for field in list(self.fields.values())[:1]:
            field.widget.attrs["autofocus"] = True

    def _field(self, name: str, value: Any) -> forms.CharField:
        secret = name in self.tool.facts.secret
        shown = "" if secret else self._shown(name, value)
        long = "\n" in shown or len(shown) > 80
        return forms.CharField(
            label=name,
            required=False,
            strip=False,
            initial=shown,
            widget=forms.Textarea(attrs={"rows": 4})
            if long
            else forms.TextInput(attrs={"autocomplete": "off"}),
            help_text="Leave it empty to keep what is there (masked)." if secret else _warning(shown),
        )

    def _shown(self, name: str, value: Any) -> str:
        if isinstance(value, str):
            return value
        return "" if value is None and self._is_text(name) else json.dumps(value, ensure_ascii=False)

    def _is_text(self, name: str) -> bool:
        """Whether the schema knows the argument as text (an amount is text as well: it is never a binary fraction)."""
        if isinstance(self.args.get(name), str):
            return True
        found = self.tool.schema.get("properties", {}).get(name, {})
        return any(one.get("type") == "string" for one in [found, *found.get("anyOf", ())])

    def edited(self) -> dict[str, Any]:
        """The arguments as they shall be. Raises Invalid naming `args.<name>`."""
        for field, errors in self.errors.items():
            raise Invalid(f"args.{field.removeprefix('arg-')}", str(errors[0]).rstrip("."))
        return {name: self._read(name, plain_lines(self.cleaned_data[f"arg-{name}"])) for name in self.args}

    def blame(self, refusal: Invalid) -> None:
        """Say at the field that a refusal names what is wrong with it; one that names no field is left to the page."""
        name = f"arg-{refusal.field.removeprefix('args.')}"
        if name in self.fields:
            self.add_error(name, refusal.rule)

    def _read(self, name: str, text: str) -> Any:
        if f"arg-{name}" not in self.data:
            return self.args[name]  # a form that does not show an argument does not change it
        if not text and (name in self.tool.facts.secret or (self.args[name] is None and self._is_text(name))):
            return self.args[name]
        if name == self.tool.facts.money:
            currency = self.data.get(
                f"arg-{self.tool.facts.currency}", self.args.get(self.tool.facts.currency or "")
            )
            return format(parse_money(text, str(currency), _LOCALE, f"args.{name}"), "f")
        if self._is_text(name):
            return text
        try:
            return load_json(text, f"args.{name}")
        except Invalid as error:
            raise Invalid(error.field, f"{error.rule}; such as 3, true, null or [1, 2]") from None


def _warning(text: str) -> str:
    """A field shows text as a browser draws it: where that may mislead, it says so."""
    hidden = suspicious(text)
    return (
        f"Holds {hidden} hidden character{'s' if hidden != 1 else ''}: see the payload above."
        if hidden
        else ""
    )
