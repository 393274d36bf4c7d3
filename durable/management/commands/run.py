"""`manage.py run REF hold --reason TEXT`: what an operator may do to a run, from a shell.

The same commands as the console's, through the same door: actor and reason go into the ledger, a refusal changes
nothing, says why, and exits with 2.
"""

from __future__ import annotations

import getpass
import sys
from collections.abc import Callable
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from durable import runs, steering
from durable.errors import InterlockError, Invalid
from durable.management.commands.start import REFUSED, read_json
from durable.models import Run
from durable.text import load_json

_Act = Callable[[str, dict[str, Any], dict[str, str]], object]

ACTS: dict[str, _Act] = {
    "hold": lambda ref, _, by: runs.hold(ref, **by),
    "release": lambda ref, _, by: runs.release(ref, **by),
    "cancel": lambda ref, given, by: runs.cancel(ref, undo=given["undo"], **by),
    "compensate": lambda ref, _, by: runs.compensate(ref, **by),
    "retry": lambda ref, _, by: steering.retry(ref, **by),
    "skip": lambda ref, given, by: steering.skip(ref, to=given["to"], **by),
    "edit": lambda ref, given, by: steering.edit_state(ref, _state(given["state"]), **by),
    "fork": lambda ref, given, by: steering.fork(
        ref, _checkpoint(given["checkpoint"]), **_beginning(given), actor=by["actor"], reason=by["reason"]
    ),
}


class Command(BaseCommand):
    help = "Hold, release, cancel, compensate, retry, skip, edit or fork a run."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("ref", help="the run's id")
        parser.add_argument("act", choices=sorted(ACTS))
        parser.add_argument("--reason", required=True, help="why; it goes into the ledger")
        parser.add_argument("--actor", help="who acts (default: the name of the user at this machine)")
        parser.add_argument("--undo", action="store_true", help="cancel: undo afterwards what was applied")
        parser.add_argument("--to", help="skip: the step to go on at (default: the next one of the plan)")
        parser.add_argument(
            "--state",
            help="edit: the new working state as JSON; fork: another one to begin with; @FILE, or - for standard input",
        )
        parser.add_argument("--input", help="fork: another input than its parent's, as JSON, @FILE or -")
        parser.add_argument("--checkpoint", type=int, help="fork: the checkpoint to begin from")

    def handle(self, *args: Any, **options: Any) -> None:
        """Prints the run's id and state after the act (for a fork: the new run's)."""
        by = {"actor": options["actor"] or getpass.getuser(), "reason": options["reason"]}
        try:
            made = ACTS[options["act"]](options["ref"], options, by)
        except InterlockError as refusal:
            self.stderr.write(str(refusal))
            sys.exit(REFUSED)
        run = made if isinstance(made, Run) else Run.objects.get(ref=options["ref"])
        self.stdout.write(f"{run.ref} {run.state}")


def _state(given: str | None) -> Any:
    if given is None:
        raise Invalid("state", "give the new working state with --state")
    return load_json(read_json(given), "state")


def _beginning(given: dict[str, Any]) -> dict[str, Any]:
    """What a fork begins with that is not its parent's."""
    return {
        name: load_json(read_json(given[name]), name)
        for name in ("state", "input")
        if given[name] is not None
    }


def _checkpoint(given: int | None) -> int:
    if given is None:
        raise Invalid("checkpoint", "name the one to begin from with --checkpoint")
    return given
