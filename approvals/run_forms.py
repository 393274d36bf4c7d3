"""The forms of an operator's acts on a run: each says why, and what the person was shown."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from django import forms

from approvals.forms import ReasonForm, SeenField
from durable.errors import Invalid
from durable.text import load_json


class SteerForm(ReasonForm):
    """A command to a run: why, and how the run stood when the person was shown what the command will do."""

    seen = SeenField(24)


class StateField(forms.JSONField):
    """A working state as JSON, in lines that a person can read: what the engine's own door refuses is refused, with the
    place.
    """

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
        if isinstance(value, str):
            return value  # as it was typed
        return json.dumps(value, ensure_ascii=False, indent=2, cls=self.encoder)


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


class ForkForm(SteerForm):
    """A fork from a kept checkpoint, with its state or another one."""

    version = forms.IntegerField(min_value=1, max_value=2**31 - 1, label="From the checkpoint")
    state = StateField(
        required=False,
        widget=forms.Textarea(attrs={"rows": 12, "spellcheck": "false", "class": "mono"}),
        label="State to begin with (JSON)",
    )

    def offer(self, checkpoints: Sequence[Mapping[str, Any]]) -> None:
        """Let people choose among the kept checkpoints (rows of the run's page) that something follows after."""
        going_on = [point for point in checkpoints if point["next"]]
        newest = max((point["tokens"] for point in checkpoints), default=0)
        self.fields["version"].widget = forms.Select(
            choices=[(point["version"], _from(point, newest - point["tokens"])) for point in going_on]
        )
        del self.fields["state"]  # the fork's own page has room for it


def _from(point: Mapping[str, Any], tokens: int) -> str:
    spent = f"; {tokens:,} tokens were used since" if tokens else ""
    return f"{point['version']}, after {point['after']}: goes on at {point['next']}{spent}"


class StateForm(SteerForm):
    """A run's working state as it shall be, as JSON."""

    state = StateField(
        widget=forms.Textarea(attrs={"rows": 8, "spellcheck": "false"}), label="Working state (JSON)"
    )
