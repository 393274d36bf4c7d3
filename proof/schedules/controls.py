"""Guards taken out, in the processes of a control alone: a check that finds nothing with them out finds nothing ever.

Each control plays schedules that pass with the guard in place, at the vendor class that needs it most.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from durable import faults, ledger, protocol, reconcile, sending, verdicts
from durable.ledger import Ask, gating, outcome
from durable.models import Effect, Run
from durable.transitions import Claim
from durable.vendor import Call
from proof.schedules.classes import LIAR
from proof.schedules.plan import Schedule, at

_Patched = Any  # a module whose function a control replaces


@dataclass(frozen=True)
class Control:
    """`take_out` breaks the guard in the present process; `finds` is a part of what the oracle must then say.

    `schedule` is played first as it stands, then with a death where the process passes `point` for the first time.
    """

    says: str
    take_out: Callable[[], None]
    finds: str
    schedule: Schedule
    point: str = ""


def _skip_lookup() -> None:
    faults.turn("lookup.skip", True)


def _key_of_the_process() -> None:
    """The key comes from who asks, not from the work."""

    def call_of(effect: Effect, *rest: Any, **more: Any) -> Call:
        call = _CALL_OF(effect, *rest, **more)
        return replace(call, key=f"{call.key}/{os.getpid()}")

    for module in _modules(sending, reconcile):
        module.call_of = call_of
        module.mismatch = lambda *_: ""


def _act_first() -> None:
    """The vendor is asked before anything is written down."""

    def begin(claim: Claim, run: Run, ask: Ask, older: Effect | None) -> Effect:
        key = ledger.key_of(run.ref, ask.place)
        receipt = ask.send(Call(key=key, run=run.ref, timeout=5.0, args=ask.proposal.args))
        return outcome.applied(claim, ledger.record(claim, run, ask, older=older).effect, receipt)

    (module,) = _modules(protocol)
    module._begin = begin


def _no_quiet() -> None:
    """A miss counts at once, however much may still be on its way."""
    for module in _modules(verdicts, reconcile):
        module.quiet_from = lambda effect, _facts: effect.recorded_at


def _nobody_asked() -> None:
    (module,) = _modules(gating)
    module.requirement = lambda *_, **__: None


def _modules(*found: object) -> tuple[_Patched, ...]:
    return found


_CALL_OF = reconcile.call_of
_TWICE = "act moved 2 times"

_ACTED = "vendor.after_call"
_LATE = {"kind": "late", "seconds": 4, "method": "POST"}

CONTROLS: Mapping[str, Control] = MappingProxyType(
    {
        "look-up": Control(
            "the look-up before a repeat is skipped", _skip_lookup, _TWICE, at(LIAR.name, "undone"), _ACTED
        ),
        "key": Control(
            "the key comes from the process, not from the work",
            _key_of_the_process,
            _TWICE,
            at("K", "undone"),
            _ACTED,
        ),
        "intent": Control(
            "the act comes before its intent", _act_first, _TWICE, at("U", "undone"), "intent.before_commit"
        ),
        "quiet": Control(
            "a miss counts before quiescence", _no_quiet, _TWICE, replace(at("O", "undone"), faults=(_LATE,))
        ),
        "gate": Control("nobody is asked", _nobody_asked, "nobody had approved", at("K", "gated")),
    }
)


def take_out(name: str) -> None:
    """Break the guard that the control `name` is about, in this process; nothing for an empty name."""
    if name:
        CONTROLS[name].take_out()
