"""What people have said about differences between a vendor's account and the ledger."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from approvals import opened
from approvals.queries import actors
from durable import acts, vault
from durable.errors import InterlockError
from durable.models import ActWords, Explanation


def by_likeness(likenesses: Iterable[str]) -> dict[str, dict[str, Any]]:
    """By the likeness of a difference: who has explained it, when, and in which words."""
    found = list(Explanation.objects.filter(likeness__in=list(likenesses)))
    if not found:
        return {}
    names = actors.names(one.by for one in found)
    told = _words([acts.about("difference", one.pk) for one in found])
    return {
        one.likeness: {
            "by": names.get(one.by, one.by),
            "at": one.at,
            "words": told.get(acts.about("difference", one.pk), ""),
        }
        for one in found
    }


def _words(concerns: list[str]) -> dict[str, str]:
    """The words of the acts that concern these, or why nobody can read them."""
    said = ActWords.objects.select_related("key", "event").filter(event__effect_key__in=concerns)
    found = {}
    for one in said:
        try:
            found[one.event.effect_key] = vault.read_act(one)
        except InterlockError as error:
            found[one.event.effect_key] = opened.instead(error, opened.ERASED)
    return found
