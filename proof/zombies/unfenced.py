"""The fence taken out of a worker, for the control: its writes no longer ask whether its token is current."""

from __future__ import annotations

from typing import Any

from durable import checkpoints, frozen
from durable.ledger import applying, intent
from durable.transitions import claim
from durable.transitions.fence import FENCE
from durable.transitions.hot import CHECKPOINT, CHECKPOINT_AND_BILL

_OF_CHECKPOINTS = (
    "WHERE r.id = %(run)s AND r.attempt = %(attempt)s AND r.nonce = %(nonce)s AND r.version = %(version)s\n"
    "      AND r.state = 'running' AND r.lease_until > clock_timestamp()"
)
_WRITERS: tuple[Any, ...] = (claim, intent, applying, frozen)


def take_out() -> None:
    """Take it out of this process, which is forked for that alone."""
    if _OF_CHECKPOINTS not in CHECKPOINT:
        raise ValueError("the checkpoint's statement has another fence by now")
    machinery: Any = checkpoints
    machinery.CHECKPOINT = CHECKPOINT.replace(_OF_CHECKPOINTS, "WHERE r.id = %(run)s")
    machinery.CHECKPOINT_AND_BILL = CHECKPOINT_AND_BILL.replace(_OF_CHECKPOINTS, "WHERE r.id = %(run)s")
    for module in _WRITERS:
        for name, statement in list(vars(module).items()):
            if isinstance(statement, str) and FENCE in statement:
                setattr(module, name, statement.replace(FENCE, "r.id = %(run)s"))
