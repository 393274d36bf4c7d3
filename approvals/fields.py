"""Kinds of fields that several forms have, and what they say where they are empty or wrong."""

from __future__ import annotations

from typing import Any

from django import forms

from approvals.decisions import MAX_WORDS


def plain_lines(text: str) -> str:
    """A browser sends every line break as CR LF, whatever the person's text had; the record keeps LF."""
    return text.replace("\r\n", "\n")


class WordsField(forms.CharField):
    """A person's own words, unchanged but for the browser's line breaks."""

    widget = forms.Textarea

    def __init__(self, **options: Any) -> None:
        super().__init__(strip=False, required=False, max_length=MAX_WORDS, **options)

    def to_python(self, value: Any) -> str:
        return plain_lines(super().to_python(value) or "")


#: A form without what its page put there, or with something else: nothing is done by it.
NOT_SEEN = {
    "required": "what you were shown is missing; reload the page and try again",
    "invalid": "what you were shown is not what this page was given; reload the page and try again",
}
NOT_CHOSEN = dict.fromkeys(("required", "invalid_choice"), "choose one of the answers that the page offers")


class SeenField(forms.RegexField):
    """How things stood that the person was shown, named by so many hexadecimal digits; without it nothing is done."""

    widget = forms.HiddenInput

    def __init__(self, digits: int) -> None:
        super().__init__(rf"^[0-9a-f]{{{digits}}}$", error_messages=NOT_SEEN)
