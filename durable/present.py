"""What is true at a vendor at this moment, for people: the facts of a gated effect, and what became of any.

A look and no more: nothing is stored, nothing is settled by it, and the release reads the facts again, whatever was
shown here.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from durable import clock, rounds
from durable.beats import asking, outermost
from durable.errors import CannotSay, InterlockError
from durable.models import Effect
from durable.reconcile import call_of, mismatch, readable, shown
from durable.vendor import Candidates, Receipt

log = logging.getLogger(__name__)

#: Seconds that a vendor has while somebody sits in front of the page.
PATIENCE = 3.0


class Unreadable(InterlockError):
    """The facts can't be read now: the vendor did not answer in time, or what is asked about is gone."""


def facts(effect: Effect) -> Mapping[str, Any] | None:
    """Return what the tool's `recheck` reads now, or None where the tool declares none.

    Asks the vendor once, with a short limit, and never inside a transaction. Raises Unreadable for whatever fails.
    """
    outermost("a vendor is to be asked")
    try:
        ask = rounds.ask_of(effect)
        if ask.recheck is None:
            return None
        return rounds.read_facts(ask, effect.key, effect.run.ref, within=PATIENCE)
    except Exception as error:  # whatever an author's function raises, the page is there all the same
        log.warning("the facts of %s could not be read: %s", effect.key, type(error).__name__)
        raise Unreadable(f"the facts of {effect.key} can't be read now") from error


@dataclass(frozen=True, slots=True)
class Seen:
    """What a vendor has said of an effect, and when it was asked, by the database's clock.

    `receipts` are what it has, as plain JSON, each with why it is not the effect's (empty where it is). `cannot` is why
    nobody can say: the tool is gone, or has no look-up, or the vendor did not answer in time.
    """

    at: datetime
    receipts: tuple[tuple[Mapping[str, Any], str], ...] = ()
    cannot: str = ""


def at_vendor(effect: Effect) -> Seen:
    """Ask the vendor what it has of an effect, by its tool's own look-up; once, with a short limit.

    Never inside a transaction. What the answer means for the effect is not decided here, and whoever looks changes
    nothing.
    """
    outermost("a vendor is to be asked")
    now = clock.db_now()
    try:
        ask = rounds.ask_of(effect)
        if ask.look is None:
            return Seen(now, cannot=f"{effect.tool} has no look-up")
        with asking("lookup"):
            answer = readable(ask.look(call_of(effect, ask, effect.run.ref, PATIENCE)))
    except (CannotSay, InterlockError) as error:
        return Seen(now, cannot=str(error))
    except Exception as error:  # whatever an author's function raises
        log.warning("what became of %s could not be read: %s", effect.key, type(error).__name__)
        return Seen(now, cannot="the vendor did not answer in time, or not readably")
    if isinstance(answer, CannotSay):
        return Seen(now, cannot=str(answer))
    found = (
        answer.receipts
        if isinstance(answer, Candidates)
        else (answer,)
        if isinstance(answer, Receipt)
        else ()
    )
    return Seen(now, tuple((shown(one), mismatch(ask, one, effect.key)) for one in found))
