"""The guards of the protocol, each a switch: what it forbids, and the guard of the code that it stands for.

`stands_for` names a place of the code as `module.name: words`, where the words stand in that place's source.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class Facts(NamedTuple):
    """What is known of a guard."""

    rule: str
    stands_for: str


class Guard(Enum):
    """A switch of the model. Its value says what the guard demands and its name in the code."""

    # Keys and beats
    KEY_FROM_PLACE = Facts(
        "a key comes from the work's place in the run, never from the attempt",
        'durable.ledger.places.key_of: f"{run_ref}:{place.step}"',
    )
    WRITE_AHEAD = Facts(
        "the intent is committed before the act",
        "durable.ledger.record.record: effect = insert(",
    )
    NO_BLIND_REPEAT = Facts(
        "an effect with an open request is looked up before anything is sent again",
        "durable.protocol._pending: if effect.open_sends:",
    )
    KEY_HONOURED = Facts(
        "software repeats only under a key that the vendor honours",
        "durable.reconcile.key_is_good: facts.idempotent_for is None",
    )
    HALF_LIFE = Facts(
        "a key counts as honoured for half of its life",
        "durable.reconcile.key_is_good: SAFE_SHARE",
    )
    SAVED_ERROR = Facts(
        "what the vendor answers with a saved error is not asked again under the same key",
        "durable.reconcile.key_is_good: effect.error_saved",
    )
    BODY_BOUND = Facts(
        "key and body are bound for ever when the first request is let out",
        "durable.protocol._another_ask: effect.sends == 0",
    )
    FENCE = Facts(
        "whoever lost the lease changes nothing in the ledger any more",
        "durable.transitions.fence.FENCE: r.nonce = %(nonce)s",
    )
    FENCED_CHECKPOINT = Facts(
        "a checkpoint names the attempt and the version that it follows",
        "durable.transitions.hot.CHECKPOINT: r.attempt = %(attempt)s AND r.nonce = %(nonce)s",
    )
    SEND_BY = Facts(
        "a request is not begun after its send-by",
        "durable.sending.send: if left > 0:",
    )
    SHORT_SEND = Facts(
        "send-by is inside the lease, and so far shorter than half of the key's life",
        "durable.ledger.release.within: claim.lease * _SHARE_OF_LEASE",
    )
    REFUSED_WHILE_OPEN = Facts(
        "a definitive no decides nothing while an earlier request is unanswered",
        "durable.ledger.outcome.failed: effect.open_sends > 1",
    )
    MATCH = Facts(
        "a receipt that names another amount is not taken",
        "durable.reconcile.mismatch: _minor(receipt",
    )
    RECEIPT_ONCE = Facts(
        "a receipt belongs to one effect",
        "durable.ledger.statements.OUTCOME: receipt_id = %(receipt)s",
    )
    # People about a doubt
    QUIET = Facts(
        '"it did not happen" counts only when no request can still land',
        "durable.reconcile.quiet_from: facts.in_flight",
    )
    LAG = Facts(
        '"it did not happen" counts only when the look-up can no longer lag',
        "durable.reconcile.quiet_from: facts.lookup_lag",
    )
    LINK_GATED = Facts(
        "what is asked again under a linked key is gated, whoever answered",
        "durable.ledger.gating.requirement: _linked(older)",
    )
    # Stops
    CANCEL = Facts(
        "nothing is let out for a run that is to end",
        "durable.ledger.release.release: run.state in ENDING",
    )
    HOLD = Facts(
        "nothing is let out for a run that is held",
        "durable.ledger.release.forward_only: if run.held:",
    )
    INTEND = Facts(
        "no new intent is recorded for a run that is to end",
        "durable.ledger.statements.INTENT: r.state = %(wanted)s",
    )
    NO_END_OVER_PENDING = Facts(
        "no run ends while one of its effects is pending or in doubt",
        "durable.endings.advance: _open_effects(run)",
    )
    # Gates
    ACT_ON_YES = Facts(
        "a gated effect is not let out before somebody has approved it",
        "durable.ledger.release._refused: EffectState.PENDING, EffectState.APPROVED",
    )
    SHOWN = Facts(
        "a decision carries the digest and round that the screen showed",
        "approvals.outcomes.check_current: (digest, round) == (gate.digest, gate.round)",
    )
    ONE_DECISION = Facts(
        "a round is decided once",
        "approvals.decisions._decide: GateState(gate.state) not in LIVE",
    )
    FOUR_EYES = Facts(
        "whoever edited does not approve",
        "approvals.access.why_not: stake(person, gate)",
    )
    DECIDE_BY = Facts(
        "decide-by is read after the lock",
        "approvals.decisions._decide: db_now() > gate.decide_by",
    )
    ACT_BY = Facts(
        "an approval that is not used in time lapses",
        "approvals.gatekeeper._why_not: db_now() > gate.act_by",
    )
    RIGHTS = Facts(
        "whoever approved must still be one who may, when it is let out",
        "approvals.gatekeeper._approvers_gone: Capability.DECIDE",
    )
    NEW_ROUND = Facts(
        "an approval is bound to the digest: another payload opens a new round",
        'durable.rounds._open: "approved_round": None',
    )
    USED_ONCE = Facts(
        "an approval lets out one effect, and no other",
        "approvals.gatekeeper._why_not: filter(effect=effect, round=effect.round)",
    )
    READ_AGAIN = Facts(
        "suspending reads the waits again, so that an answer that came first is not lost",
        "durable.suspending._wait: reason.refresh_from_db()",
    )
    # The way back
    UNDO_APPLIED = Facts(
        "only what was applied is undone",
        "durable.compensation.to_undo: state=EffectState.APPLIED.value",
    )
    UNDO_REVERSE = Facts(
        "what was applied last is undone first",
        'durable.compensation.to_undo: order_by("-applied_no")',
    )
    UNDO_KEY = Facts(
        "an undo has one key of its own, so that it is done once",
        'durable.ledger.places.undo_key_of: f"{undone.key}:undo"',
    )
    UNDO_WAITS = Facts(
        "nothing is undone over an undo that is not known to be done",
        "durable.compensation._undo: protocol.perform(claim, run, ask)",
    )
    # Money, and one act in two runs
    RESERVE = Facts(
        "money is reserved before it is spent",
        "durable.ledger.statements.INTENT: SET reserved_minor =",
    )
    RESERVE_AT_ONCE = Facts(
        "reading what is left and reserving it are one statement",
        "durable.ledger.statements.INTENT: p.limit_minor >= p.reserved_minor + p.spent_minor",
    )
    DOUBT_KEEPS = Facts(
        "a doubt keeps its reservation",
        "durable.ledger.outcome.put_in_doubt: EffectState.IN_DOUBT",
    )
    ONCE_PER = Facts(
        "the same business act in another run is gated",
        "durable.ledger.gating.requirement: _once(run, ask)",
    )
    ONCE_QUEUE = Facts(
        "two runs that want the same business act queue: the second sees the first",
        "durable.ledger.record.record: gating.serialise(run, once_per)",
    )
    # Forks and restores
    FORK_BLOCKED = Facts(
        "no run is forked over what is pending or in doubt",
        "durable.steering._may_fork: _UNSETTLED",
    )
    FORK_INHERITS = Facts(
        "a fork sees its parent's ledger: an equal call has its receipt",
        "durable.protocol.perform: _inherited(run, ask)",
    )
    FORK_GATED = Facts(
        "any other call at a place that the parent used is gated",
        "durable.ledger.gating.requirement: _kinship(run, ask)",
    )
    RESTORED = Facts(
        "after a restore, what may have happened since the backup is in doubt before anything is sent",
        "durable.ledger.record.record: doubted = forgotten(",
    )

    @property
    def rule(self) -> str:
        """What the guard demands, in one sentence."""
        return self.value.rule

    @property
    def stands_for(self) -> str:
        """The guard of the code: `module.name: words of its source`."""
        return self.value.stands_for
