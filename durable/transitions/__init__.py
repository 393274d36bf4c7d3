"""Every change of an engine state, and the locks that it needs. Nothing else writes `state` of a run, effect or wait,
but for the fused statements of `durable.ledger`, by which an effect begins and is settled as applied.

Lock order, for everybody and always: run, then wait, then effect, then gate; ascending id within a kind. A
command takes the run's row first (`lock_run`, or `hold_claim` for a worker), so that all writers of one run
queue there and what they read afterwards cannot change under them.

A worker's write names its fencing token, the attempt and its nonce. A token that is no longer current changes nothing
and raises LeaseLost.
"""

from __future__ import annotations

from durable.transitions.claim import Bill, Claim, hold_claim, look, still_held
from durable.transitions.locks import lock_effect, lock_run, lock_wait
from durable.transitions.moves import close_wait, move_effect, move_run

__all__ = [
    "Bill",
    "Claim",
    "close_wait",
    "hold_claim",
    "lock_effect",
    "lock_run",
    "lock_wait",
    "look",
    "move_effect",
    "move_run",
    "still_held",
]
