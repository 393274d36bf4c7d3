"""The cases that are searched: which vendor, which plan, how much misfortune; and where the lack of a guard shows."""

from __future__ import annotations

from proof.model.case import Case, Vendor
from proof.model.guards import Guard
from proof.model.world import Luck

# The six classes of vendor, as their adapters would declare them.
KEYED = Vendor("keys and a look-up", keyed=True, looks="by key")
SILENT = Vendor("keys of a short life, a look-up that may not say", keyed=True, looks="by key", silent=True)
IGNORES = Vendor("keys, another body ignored", keyed=True, other_body="ignores", looks="by key")
MOVES = Vendor("keys, another body moved", keyed=True, other_body="moves", looks="by key")
LAGGING = Vendor("no keys, a look-up that lags", looks="by key", lags=True)
OPAQUE = Vendor("no keys, no look-up")
#: Finds by business reference: an equal act looks the same.
ALIKE = Vendor("keys, a look-up by reference", keyed=True, looks="by reference")

TWO = (("pay", "tip"),)
BOTH = (("pay",), ("pay",))
ONE = ("pay",)

#: With all guards on each of these is sound, to the bounds that its luck sets.
SCENARIOS: dict[str, tuple[Case, ...]] = {
    "one effect": (
        Case("a crash, a pause, a lost answer", KEYED, Luck(crash=1, pause=1, lose=1)),
        Case(
            "a crash, a lost answer, a refusal, a wrong sum", KEYED, Luck(crash=1, lose=1, refuse=1, wrong=1)
        ),
        Case("a crash, a lost answer, a saved error", SILENT, Luck(crash=1, lose=1, error=1)),
        Case("a pause, a lost answer", SILENT, Luck(pause=1, lose=1)),
        Case("a crash, a lost answer, a fickle step", IGNORES, Luck(crash=1, lose=1, fickle=1)),
        Case("a pause, a fickle step", IGNORES, Luck(pause=1, fickle=1)),
        Case("two crashes, a fickle step", MOVES, Luck(crash=2, fickle=1)),
        Case("a crash, two lost answers, a refusal", LAGGING, Luck(crash=1, lose=2, refuse=1)),
        Case("a crash, a pause, a lost answer", OPAQUE, Luck(crash=1, pause=1, lose=1)),
        Case("two steps alike, a crash, a lost answer", ALIKE, Luck(crash=1, lose=1), plans=TWO),
        Case("two steps alike, a pause", ALIKE, Luck(pause=1), plans=TWO),
    ),
    "stops": (
        Case("a lost answer, a cancel, a hold", KEYED, Luck(lose=1, cancel=1, hold=1)),
        Case("a pause, a cancel", KEYED, Luck(pause=1, cancel=1)),
        Case("a crash, a pause, a lost answer, a cancel", LAGGING, Luck(crash=1, pause=1, lose=1, cancel=1)),
        Case("a crash, a pause, a lost answer, a cancel", OPAQUE, Luck(crash=1, pause=1, lose=1, cancel=1)),
        Case("a crash, two lost answers, a hold", OPAQUE, Luck(crash=1, lose=2, hold=1)),
    ),
    "gates": (
        Case("a crash, an edit", OPAQUE, Luck(crash=1, edit=1), gated=ONE),
        Case("a lost answer, a lapse", LAGGING, Luck(lose=1, lapse=1), gated=ONE),
        Case("a cancel, a hold", LAGGING, Luck(cancel=1, hold=1), gated=ONE),
        Case("an edit, a right withdrawn", KEYED, Luck(edit=1, revoke=1), gated=ONE),
    ),
    "the way back": (
        Case("two undos, a lost answer", OPAQUE, Luck(lose=1, cancel=1), plans=TWO, undo=True),
        Case(
            "two undos, a crash, a refusal", OPAQUE, Luck(crash=1, refuse=1, cancel=1), plans=TWO, undo=True
        ),
        Case("an undo, a pause", LAGGING, Luck(pause=1, cancel=1), undo=True),
    ),
    "one purse, two runs": (
        Case("a lost answer", OPAQUE, Luck(lose=1), plans=BOTH, limit=40),
        Case("a crash", LAGGING, Luck(crash=1), plans=BOTH, limit=40),
        Case("a refusal, a cancel", KEYED, Luck(refuse=1, cancel=1), plans=BOTH, limit=40),
    ),
    "one order, two runs": (Case("a refusal", OPAQUE, Luck(refuse=1), plans=BOTH, once=True),),
    "forks": (
        Case("a hold, a fickle step", OPAQUE, Luck(fickle=1, hold=1, fork=1)),
        Case("a hold, a lost answer", LAGGING, Luck(lose=1, hold=1, fork=1)),
        Case("a crash, an undo", LAGGING, Luck(crash=1, cancel=1, fork=1), undo=True),
    ),
    "restores": (
        Case("two steps", KEYED, Luck(restore=2), plans=TWO),
        Case("a lost answer", KEYED, Luck(lose=1, restore=2)),
        Case("a crash", LAGGING, Luck(crash=1, restore=2)),
        Case("a gate", OPAQUE, Luck(restore=2), gated=ONE),
    ),
}

#: For each guard a small case: sound with all guards on, wrong without this one.
SHOWS: dict[Guard, Case] = {
    Guard.KEY_FROM_PLACE: Case("a crash", OPAQUE, Luck(crash=1)),
    Guard.WRITE_AHEAD: Case("a crash", OPAQUE, Luck(crash=1)),
    Guard.NO_BLIND_REPEAT: Case("a crash", OPAQUE, Luck(crash=1)),
    Guard.KEY_HONOURED: Case("a crash", LAGGING, Luck(crash=1)),
    Guard.HALF_LIFE: Case("a lost answer", SILENT, Luck(lose=1)),
    Guard.SAVED_ERROR: Case("a saved error", KEYED, Luck(error=1)),
    Guard.BODY_BOUND: Case("a fickle step", MOVES, Luck(crash=1, fickle=1)),
    Guard.FENCE: Case("a gate, a pause", OPAQUE, Luck(pause=1), gated=ONE),
    Guard.FENCED_CHECKPOINT: Case("a pause, two steps", KEYED, Luck(pause=1), plans=TWO),
    Guard.SEND_BY: Case("a pause", OPAQUE, Luck(pause=1)),
    Guard.SHORT_SEND: Case("a lost answer", SILENT, Luck(lose=1)),
    Guard.REFUSED_WHILE_OPEN: Case("a lost answer and a refusal", KEYED, Luck(lose=1, refuse=1)),
    Guard.MATCH: Case("a wrong sum", KEYED, Luck(wrong=1)),
    Guard.RECEIPT_ONCE: Case("two alike", ALIKE, Luck(lose=1), plans=TWO),
    Guard.QUIET: Case("a lost answer", OPAQUE, Luck(lose=1)),
    Guard.LAG: Case("a fickle step", LAGGING, Luck(crash=1, fickle=1)),
    Guard.LINK_GATED: Case("a lost request", OPAQUE, Luck(lose=1)),
    Guard.CANCEL: Case("a cancel", KEYED, Luck(cancel=1), gated=ONE),
    Guard.HOLD: Case("a hold", KEYED, Luck(hold=1)),
    Guard.INTEND: Case("a cancel", KEYED, Luck(cancel=1)),
    Guard.NO_END_OVER_PENDING: Case("a cancel, a lost answer", LAGGING, Luck(lose=1, cancel=1)),
    Guard.ACT_ON_YES: Case("a gate", KEYED, Luck(), gated=ONE),
    Guard.SHOWN: Case("an edit", KEYED, Luck(edit=1), gated=ONE),
    Guard.ONE_DECISION: Case("a gate", KEYED, Luck(), gated=ONE),
    Guard.FOUR_EYES: Case("an edit", KEYED, Luck(edit=1), gated=ONE),
    Guard.DECIDE_BY: Case("a gate", KEYED, Luck(), gated=ONE),
    Guard.ACT_BY: Case("a lapse", KEYED, Luck(lapse=1), gated=ONE),
    Guard.RIGHTS: Case("a right withdrawn", KEYED, Luck(revoke=1), gated=ONE),
    Guard.NEW_ROUND: Case("a fickle step", KEYED, Luck(fickle=1), gated=ONE),
    Guard.USED_ONCE: Case("two gates", KEYED, Luck(), plans=TWO, gated=("pay", "tip")),
    Guard.READ_AGAIN: Case("a gate", KEYED, Luck(), gated=ONE),
    Guard.UNDO_APPLIED: Case("an undo", KEYED, Luck(refuse=1, cancel=1), undo=True),
    Guard.UNDO_REVERSE: Case("two undos", KEYED, Luck(cancel=1), plans=TWO, undo=True),
    Guard.UNDO_KEY: Case("an undo and a crash", OPAQUE, Luck(crash=1, cancel=1), undo=True),
    Guard.UNDO_WAITS: Case("two undos, a lost answer", OPAQUE, Luck(lose=1, cancel=1), plans=TWO, undo=True),
    Guard.RESERVE: Case("one purse", KEYED, Luck(), plans=BOTH, limit=40),
    Guard.RESERVE_AT_ONCE: Case("one purse", KEYED, Luck(), plans=BOTH, limit=40),
    Guard.DOUBT_KEEPS: Case("one purse, a lost answer", OPAQUE, Luck(lose=1), plans=BOTH, limit=40),
    Guard.ONCE_PER: Case("one order", KEYED, Luck(), plans=BOTH, once=True),
    Guard.ONCE_QUEUE: Case("one order", KEYED, Luck(), plans=BOTH, once=True),
    Guard.FORK_BLOCKED: Case("a fork", OPAQUE, Luck(lose=1, hold=1, fork=1)),
    Guard.FORK_INHERITS: Case("a fork", KEYED, Luck(fork=1)),
    Guard.FORK_GATED: Case("a fork that asks otherwise", KEYED, Luck(fork=1, fickle=1)),
    Guard.RESTORED: Case("a restore", OPAQUE, Luck(restore=2)),
}
