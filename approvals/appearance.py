"""How a state, a class and a ledger event look: one tone and one icon each, the same on every page.

A tone is a colour family of `static/css/tokens.css`; an icon is the id of a symbol in `static/img/icons.svg`.
"""

from __future__ import annotations

from typing import NamedTuple


class Appearance(NamedTuple):
    """Tone and icon of one word. The word itself always stands beside them: colour never speaks alone."""

    tone: str
    icon: str


MOVING, WAITS, STOPPED, DOUBT, DONE, QUIET = "moving", "waits", "stopped", "doubt", "done", "quiet"

#: Every word that a badge may carry: states of runs, effects and waits, and the reasons of an attention wait.
STATES: dict[str, Appearance] = {
    "queued": Appearance(QUIET, "circle-dashed"),
    "running": Appearance(MOVING, "progress"),
    "suspended": Appearance(QUIET, "zzz"),
    "failing": Appearance(STOPPED, "circle-x"),
    "cancelling": Appearance(QUIET, "square-x"),
    "completed": Appearance(DONE, "checks"),
    "failed": Appearance(STOPPED, "circle-x"),
    "cancelled": Appearance(QUIET, "square-x"),
    "compensating": Appearance(MOVING, "arrow-back-up"),
    "compensated": Appearance(QUIET, "history"),
    "partly compensated": Appearance(STOPPED, "circle-half-2"),
    "gated": Appearance(WAITS, "hand-stop"),
    "asked back": Appearance(WAITS, "message-circle-question"),
    "approved": Appearance(DONE, "shield-check"),
    "pending": Appearance(MOVING, "send"),
    "in doubt": Appearance(DOUBT, "zoom-question"),
    "applied": Appearance(DONE, "circle-check"),
    "rejected": Appearance(QUIET, "ban"),
    "expired": Appearance(QUIET, "calendar-x"),
    "withdrawn": Appearance(QUIET, "circle-minus"),
    "superseded": Appearance(QUIET, "versions"),
    "gate": Appearance(WAITS, "hand-stop"),
    "timer": Appearance(QUIET, "clock-hour-4"),
    "event": Appearance(QUIET, "bolt"),
    "hold": Appearance(QUIET, "player-pause"),
    "attention": Appearance(STOPPED, "alert-triangle"),
    "stuck": Appearance(STOPPED, "alert-triangle"),
    "conflict": Appearance(STOPPED, "alert-octagon"),
    "budget spent": Appearance(STOPPED, "alert-triangle"),
    "retries spent": Appearance(STOPPED, "alert-triangle"),
    "crash loop": Appearance(STOPPED, "alert-triangle"),
    "code missing": Appearance(STOPPED, "alert-triangle"),
    "code incompatible": Appearance(STOPPED, "alert-triangle"),
    "undo failed": Appearance(STOPPED, "alert-triangle"),
    "facts no longer true": Appearance(STOPPED, "alert-triangle"),
    "effect not asked again": Appearance(STOPPED, "alert-triangle"),
    "open": Appearance(WAITS, "clock"),
    "resolved": Appearance(DONE, "check"),
    "skipped": Appearance(QUIET, "player-skip-forward"),
    "asked": Appearance(QUIET, "circle-dashed"),
    "being made": Appearance(MOVING, "progress"),
    "made": Appearance(DONE, "circle-check"),
    "stopped": Appearance(QUIET, "ban"),
    "deleted": Appearance(QUIET, "eraser"),
    # Statements of vendors, and what they find.
    "clean": Appearance(DONE, "checks"),
    "differs": Appearance(STOPPED, "alert-triangle"),
    "explained": Appearance(DONE, "check"),
    "replaced": Appearance(QUIET, "versions"),
    "not made": Appearance(STOPPED, "cloud-off"),
    "in both": Appearance(DONE, "checks"),
    "beside the period": Appearance(DONE, "check"),
    "at the vendor alone": Appearance(STOPPED, "building-bank"),
    "in the ledger alone": Appearance(STOPPED, "database"),
    "amounts differ": Appearance(STOPPED, "arrows-diff"),
    "currencies differ": Appearance(STOPPED, "arrows-diff"),
    "another receipt": Appearance(STOPPED, "versions"),
    "not applied with us": Appearance(STOPPED, "circle-x"),
    "in doubt with us": Appearance(DOUBT, "zoom-question"),
}

#: A word nobody listed is shown as it is, quiet, with a question mark: the page must not break over it.
UNLISTED = Appearance(QUIET, "question-mark")

#: Icons of the four classes. Classes are not states: a square badge and no state colour.
CLASSES: dict[str, str] = {
    "read": "eye",
    "idempotent": "repeat",
    "compensable": "arrow-back-up",
    "irreversible": "lock",
}

#: Ledger events that name no state of `STATES`: the look they share with one that does, or their own.
EVENTS: dict[str, Appearance] = {
    "started": Appearance(MOVING, "player-play"),
    "resumed": Appearance(MOVING, "player-play"),
    "attempt lost": Appearance(STOPPED, "bug"),
    "intent": Appearance(QUIET, "circle-dashed"),
    "edited": Appearance(WAITS, "pencil"),
    "new round": Appearance(WAITS, "refresh"),
    "refused decision": Appearance(QUIET, "ban"),
    "sent": Appearance(MOVING, "send"),
    "not sent": Appearance(QUIET, "cloud-off"),
    "no answer": Appearance(DOUBT, "clock-exclamation"),
    "late answer": Appearance(DOUBT, "clock-exclamation"),
    "looked up": Appearance(MOVING, "search"),
    "adopted": Appearance(DONE, "circle-check"),
    "verdict proposed": Appearance(WAITS, "scale"),
    "verdict": Appearance(DONE, "scale"),
    "left in doubt": Appearance(DOUBT, "zoom-question"),
    "linked": Appearance(QUIET, "link"),
    "settled": Appearance(DONE, "check"),
    "held": Appearance(QUIET, "player-pause"),
    "released": Appearance(MOVING, "player-play"),
    "retried": Appearance(MOVING, "refresh"),
    "state edited": Appearance(QUIET, "pencil"),
    "forked": Appearance(QUIET, "git-fork"),
    "cancel asked": Appearance(QUIET, "square-x"),
    "compensation asked": Appearance(MOVING, "arrow-back-up"),
    "not undoable": Appearance(STOPPED, "circle-half-2"),
    "run failed": Appearance(STOPPED, "circle-x"),
    "pruned": Appearance(QUIET, "eraser"),
    "erased": Appearance(QUIET, "eraser"),
    "erasure asked": Appearance(QUIET, "eraser"),
    "erasure agreed": Appearance(QUIET, "eraser"),
    "erasure withdrawn": Appearance(QUIET, "eraser"),
    "erasure ended": Appearance(DONE, "eraser"),
    "restored": Appearance(DOUBT, "zoom-question"),
    "signed in": Appearance(QUIET, "login"),
    "signed out": Appearance(QUIET, "logout"),
    "sign-in refused": Appearance(STOPPED, "lock-access"),
    "refused": Appearance(STOPPED, "ban"),
    "more refused": Appearance(STOPPED, "ban"),
    "person added": Appearance(WAITS, "user"),
    "person changed": Appearance(WAITS, "user"),
    "person removed": Appearance(WAITS, "user"),
    "roles changed": Appearance(WAITS, "users"),
    "rights changed": Appearance(WAITS, "key"),
    "role added": Appearance(WAITS, "users"),
    "role changed": Appearance(WAITS, "users"),
    "role removed": Appearance(WAITS, "users"),
    "right changed": Appearance(WAITS, "key"),
    "right removed": Appearance(WAITS, "key"),
    "look-up asked": Appearance(MOVING, "search"),
    "view saved": Appearance(QUIET, "list-check"),
    "view deleted": Appearance(QUIET, "list-check"),
    "bulk act drafted": Appearance(QUIET, "stack-2"),
    "bulk act started": Appearance(MOVING, "stack-2"),
    "bulk act stopped": Appearance(QUIET, "ban"),
    "bulk act ended": Appearance(DONE, "checks"),
    "export asked": Appearance(QUIET, "download"),
    "export made": Appearance(DONE, "download"),
    "export downloaded": Appearance(WAITS, "download"),
    "export stopped": Appearance(QUIET, "ban"),
    "export failed": Appearance(STOPPED, "circle-x"),
    "export expired": Appearance(QUIET, "calendar-x"),
    "export deleted": Appearance(QUIET, "eraser"),
    "dossier taken": Appearance(WAITS, "download"),
    "stop ordered": Appearance(STOPPED, "hand-stop"),
    "stop lifted": Appearance(MOVING, "player-play"),
    "restore begun": Appearance(DOUBT, "zoom-question"),
    "restore checked": Appearance(DONE, "check"),
    "legal hold set": Appearance(WAITS, "shield-lock"),
    "legal hold lifted": Appearance(QUIET, "shield-check"),
    "statement asked": Appearance(MOVING, "building-bank"),
    "statement made": Appearance(QUIET, "building-bank"),
    "difference explained": Appearance(DONE, "check"),
    "retention changed": Appearance(WAITS, "eraser"),
    "retention passed": Appearance(QUIET, "eraser"),
    "ledger cut": Appearance(WAITS, "eraser"),
}


def of(word: str) -> Appearance:
    """The look of a state, a wait's reason or a ledger event; `UNLISTED` for a word that nobody listed."""
    return STATES.get(word) or EVENTS.get(word) or UNLISTED
