"""The forms of an operator's acts on a run: each says why, and what the person was shown."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from django import forms

from approvals.fields import SeenField
from approvals.forms import ReasonForm
from durable.errors import Invalid
from durable.steering import KEPT
from durable.text import load_json


class SteerForm(ReasonForm):
    """A command to a run: why, and how the run stood when the person was shown what the command will do."""

    seen = SeenField(24)

    @property
    def changes(self) -> bool:
        """Whether it changes what a run works with, which takes a right of its own. Ask a valid form."""
        return False


class PlainJson(forms.JSONField):
    """Plain JSON, in lines that a person can read: what the engine's own door refuses is refused, with the place."""

    def to_python(self, value: Any) -> Any:
        """Return the value; None for an empty text."""
        if value in self.empty_values or not str(value).strip():
            return None
        try:
            return load_json(value, "")
        except Invalid as error:
            where = error.field.lstrip(".")
            raise forms.ValidationError(f"{where}: {error.rule}" if where else error.rule) from None

    def bound_data(self, data: Any, initial: Any) -> Any:
        """What was typed, as it was typed."""
        return data

    def prepare_value(self, value: Any) -> Any:
        """What stands in the field: a text as it is, all else as JSON on many lines."""
        if isinstance(value, str):
            return value  # as it was typed
        return pretty(value)


class CancelForm(SteerForm):
    """A cancellation, and whether what the run did is to be undone."""

    undo = forms.BooleanField(required=False, label="Undo what it has done")


class SkipForm(SteerForm):
    """A step left undone, and where to go on."""

    to = forms.CharField(required=False, max_length=200, label="Go on at step")

    def offer(self, steps: Sequence[str]) -> None:
        """Let people choose among the steps of the code; without one it goes on at the next."""
        self.fields["to"].widget = forms.Select(
            choices=[("", "the next one"), *((name, name) for name in steps)]
        )


def pretty(value: Any) -> str:
    """Return plain JSON in lines that a person can read and change."""
    return json.dumps(value, ensure_ascii=False, indent=2)


def _lines(rows: int) -> forms.Textarea:
    return forms.Textarea(attrs={"rows": rows, "spellcheck": "false", "class": "mono"})


class ForkForm(SteerForm):
    """A fork from a kept checkpoint, with its state and its run's input, or others. Where a text is empty, as they are.

    `shown` names what of them was changed when the person was shown the difference.
    """

    version = forms.IntegerField(min_value=1, max_value=2**31 - 1, label="From the checkpoint")
    input = PlainJson(required=False, widget=_lines(8), label="Input (JSON)")
    state = PlainJson(required=False, widget=_lines(12), label="Working state (JSON)")
    shown = forms.CharField(required=False, max_length=64)

    @property
    def changes(self) -> bool:
        """Whether a state or an input is given, the same ones or others."""
        return self.cleaned_data["state"] is not None or self.cleaned_data["input"] is not KEPT

    def clean(self) -> dict[str, Any]:
        """Tell an input that is null from none: null is one."""
        data = super().clean() or self.cleaned_data
        typed = {name for name in ("input", "state") if str(self.data.get(name, "")).strip()}
        if "input" not in typed:
            data["input"] = KEPT
        if "state" in typed and "state" in data and data["state"] is None:
            self.add_error("state", "must be an object")
        return data

    def offer(self, checkpoints: Sequence[Mapping[str, Any]]) -> None:
        """Let people choose among the kept checkpoints (rows of the run's page) that something follows after."""
        going_on = [point for point in checkpoints if point["next"]]
        newest = max((point["tokens"] for point in checkpoints), default=0)
        self.fields["version"].widget = forms.Select(
            choices=[(point["version"], _from(point, newest - point["tokens"])) for point in going_on]
        )
        self.fields["version"].help_text = "The list of checkpoints has a fork with another state or input."
        del self.fields["input"], self.fields["state"]  # the fork's own page has room for them


def _from(point: Mapping[str, Any], tokens: int) -> str:
    spent = f"; {tokens:,} tokens were used since" if tokens else ""
    return f"{point['version']}, after {point['after']}: goes on at {point['next']}{spent}"


class StateForm(SteerForm):
    """A run's working state as it shall be, as JSON."""

    state = PlainJson(widget=_lines(8), label="Working state (JSON)")

    @property
    def changes(self) -> bool:
        """It does."""
        return True
