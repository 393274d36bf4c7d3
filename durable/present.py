"""The facts of a gated effect as they are at this moment, for people who are about to decide.

A look and no more: nothing is stored, and the release reads the facts again, whatever was shown here.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from django.db import connection

from durable import rounds
from durable.errors import InterlockError
from durable.models import Effect

log = logging.getLogger(__name__)

#: Seconds that a vendor has while somebody sits in front of the page.
PATIENCE = 3.0


class Unreadable(InterlockError):
    """The facts can't be read now: the vendor did not answer in time, or what is asked about is gone."""


def facts(effect: Effect) -> Mapping[str, Any] | None:
    """Return what the tool's `recheck` reads now, or None where the tool declares none.

    Asks the vendor once, with a short limit, and never inside a transaction. Raises Unreadable for whatever fails.
    """
    outer = connection.atomic_blocks
    if outer and not outer[-1]._from_testcase:  # type: ignore[attr-defined]  # as `atomic(durable=True)` asks
        raise RuntimeError("a vendor is to be asked, and a transaction is open")
    try:
        ask = rounds.ask_of(effect)
        if ask.recheck is None:
            return None
        return rounds.read_facts(ask, effect.key, effect.run.ref, within=PATIENCE)
    except Exception as error:  # whatever an author's function raises, the page is there all the same
        log.warning("the facts of %s could not be read: %s", effect.key, type(error).__name__)
        raise Unreadable(f"the facts of {effect.key} can't be read now") from error
