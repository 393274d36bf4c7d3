"""What must be true of a history when all is over. Each oracle reads plain rows and says in sentences what is wrong.

None asks the engine: what moved is the vendor's book and the mail folder, what was promised is what the crowd noted.
"""

from __future__ import annotations

from proof.chaos import kept, moved
from proof.chaos.finding import Oracle

ORACLES: dict[str, Oracle] = {
    "each thing moved at most once": moved.moved_once,
    "the ledger says what moved": moved.ledger_agrees,
    "one receipt, one effect": moved.receipts_once,
    "nothing left without its yes": moved.nothing_unapproved,
    "every run has ended": kept.all_ended,
    "no lease outlives its holder": kept.no_lease_left,
    "a stop stops": kept.stops_stop,
    "money and tokens add up": kept.budgets_add_up,
    "the chains hold": kept.chains_hold,
    "what was acknowledged is there": kept.promises_kept,
}
