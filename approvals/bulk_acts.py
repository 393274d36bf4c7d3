"""The acts that may be done to many runs at once: the engine's commands, and when each fits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from approvals.acts import ACTS, Act, Situation
from durable import runs, steering
from durable.errors import Invalid


@dataclass(frozen=True, slots=True)
class BulkKind:
    """One act on many: its name in addresses, and the act on one run that it repeats."""

    name: str
    label: str
    act: Act
    command: Callable[..., None]

    @property
    def danger(self) -> bool:
        """Whether it ends runs."""
        return self.act.kind == "danger"

    def outlook(self, run: Situation) -> str:
        """Why the act does not fit a run that stands so; empty where it fits."""
        if self.act.fits(run):
            return ""
        if self.name == "holds" and run.held:
            return "held already"
        if self.name == "releases":
            return "not held"
        if self.name == "retries" and run.in_doubt:
            return "an effect is in doubt: it needs a verdict first"
        return f"{run.state.value} and not stuck" if self.name == "retries" else f"{run.state.value} already"


def _of(noun: str) -> Act:
    return next(act for act in ACTS if act.noun == noun)


def _cancel(undo: bool) -> Callable[..., None]:
    return partial[Any](runs.cancel, undo=undo)


BULK: tuple[BulkKind, ...] = (
    BulkKind("holds", "Hold", _of("holds"), runs.hold),
    BulkKind("releases", "Release", _of("releases"), runs.release),
    BulkKind("retries", "Retry", _of("retries"), steering.retry),
    BulkKind("cancellations", "Cancel", _of("cancellations"), _cancel(False)),
    BulkKind(
        "undone-cancellations",
        "Cancel and compensate",
        _of("cancellations"),
        _cancel(True),
    ),
)


def kind(name: str) -> BulkKind:
    """Return an act on many by its name. Raises Invalid."""
    for one in BULK:
        if one.name == name:
            return one
    raise Invalid("act", f"must be one of {', '.join(one.name for one in BULK)}")
