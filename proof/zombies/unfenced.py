"""The fence taken out of a worker, for the control: its writes no longer ask whether its token is current."""

from __future__ import annotations

from typing import Any

from durable import checkpoints
from durable.transitions import claim
from durable.transitions.hot import CHECKPOINT

_FENCE = (
    "WHERE r.id = %(run)s AND r.attempt = %(attempt)s AND r.nonce = %(nonce)s AND r.version = %(version)s\n"
    "      AND r.state = 'running' AND r.lease_until > clock_timestamp()"
)


def take_out() -> None:
    """Take it out of this process, which is forked for that alone."""
    if _FENCE not in CHECKPOINT:
        raise ValueError("the checkpoint's statement has another fence by now")
    machinery: Any = checkpoints
    machinery.CHECKPOINT = CHECKPOINT.replace(_FENCE, "WHERE r.id = %(run)s")
    fence: Any = claim
    fence._HELD = "id = %s AND %s > 0 AND %s <> ''"
