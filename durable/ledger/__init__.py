"""The write-ahead ledger of side effects: record the intent, let it out, record the outcome.

Three beats around every act. Each beat is one commit of its own, and no transaction is open while the vendor is asked:
`record` and `release` are done before the request, `outcome` after it. What the process was doing when it died can be
read from the row that it left:

    nothing                 the act never began
    pending, no request     it was meant, and never left
    pending, open requests  nobody knows: look it up (`reconcile`)
    applied, failed         known

An effect of a locked run changes only through these functions and `answers`.
"""

from __future__ import annotations

from durable.ledger.ask import Ask, facts_of
from durable.ledger.places import Place, at, inherited, key_of, undo_key_of
from durable.ledger.record import Recorded, record
from durable.ledger.release import Released, Sending, release
from durable.ledger.sends import forgotten, never_left, perhaps_used, quiet_after

__all__ = [
    "Ask",
    "Place",
    "Recorded",
    "Released",
    "Sending",
    "at",
    "facts_of",
    "forgotten",
    "inherited",
    "key_of",
    "never_left",
    "perhaps_used",
    "quiet_after",
    "record",
    "release",
    "undo_key_of",
]
