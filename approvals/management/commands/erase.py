"""`manage.py erase customer:ann@example.org …`: have a person's data erased.

Without `--seen` it shows what would go, and with which `--seen` it then goes: nothing else than what was shown. Where
that has changed, nothing is done, and it shows the new state. Names given as arguments stand in the shell's history;
`-` reads them from standard input, a line each. Of more runs than ERASE_ALONE_LIMIT it is done once a second person has
asked for the same. `--list` prints what was erased, for keeping outside; after a restore `--again FILE` erases all of
such a list once more. Exit code 0 where all is erased, 1 where something waits, 2 for a refusal.
"""

from __future__ import annotations

import getpass
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from approvals import catalogue, erasures
from approvals.erasure_forms import called
from approvals.erasures import Look
from durable import erased, erasing, erasure_list, erasure_orders
from durable.concerned import Called
from durable.errors import InterlockError, Invalid, Moved
from durable.models import Erasure, ErasureRun
from durable.states import EraseReason, ErasureState

REFUSED, WAITS = 2, 1
#: Words for the command line; what is kept is the reason itself.
REASONS = {
    "asked": EraseReason.ASKED,
    "not-needed": EraseReason.NOT_NEEDED,
    "unlawful": EraseReason.UNLAWFUL,
    "ordered": EraseReason.ORDERED,
}
_LISTED = 20


class Command(BaseCommand):
    help = "Erase a person's data; what stays names nobody, and every chain still verifies."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "names", nargs="*", help="customer:ann@example.org, order:8812; - reads them from stdin"
        )
        parser.add_argument(
            "--thoroughly", action="store_true", help="read conversations and states for them, too"
        )
        parser.add_argument("--seen", help="what was shown, as the same command without it says")
        parser.add_argument("--reason", choices=REASONS, help="why; kept for ever")
        parser.add_argument(
            "--reference", default="", help="the number of the request; not the person's name"
        )
        parser.add_argument(
            "--others",
            default="",
            choices=["erase", "leave"],
            help="what becomes of runs that name others as well",
        )
        parser.add_argument("--actor", help="who acts (default: the name of the user at this machine)")
        parser.add_argument(
            "--list", action="store_true", help="print what was erased, a line each, and nobody's name"
        )
        parser.add_argument(
            "--again", metavar="FILE", help="erase once more what this list says, after a restore"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Prints what would go, or what went, and ends the process with one of the three codes."""
        catalogue.load()
        actor = options["actor"] or getpass.getuser()
        try:
            if options["list"]:
                for line in erased.lines():
                    self.stdout.write(line)
                return
            if options["again"]:
                made = self._again(options["again"], actor)
            else:
                made = self._asked(called(list(_lines(options["names"]))), actor, options)
        except (InterlockError, OSError) as refusal:
            self.stderr.write(str(refusal))
            sys.exit(REFUSED)
        self._see_through(made)

    def _again(self, file: str, actor: str) -> list[Erasure]:
        try:
            with Path(file).open(encoding="utf-8", errors="replace") as lines:
                found, torn = erasure_list.read(lines)
        except OSError as error:
            raise Invalid(
                "--again", f"{file} can't be read ({error.strerror}): name the list that --list printed"
            ) from None
        if torn and not found:
            raise Invalid("again", f"{file} is no list of erasures")
        for no in torn:
            self.stderr.write(f"line {no} says nothing: it was cut short, or changed")
        made = erasure_orders.again(found, actor=actor)
        if not made:
            self.stdout.write("All of it is erased.")
        return made

    def _asked(self, names: list[Called], actor: str, options: dict[str, Any]) -> list[Erasure]:
        if not options["seen"]:
            self._show(names, options)
            return []
        if not options["reason"]:
            raise Invalid("reason", f"say why: --reason {', '.join(REASONS)}")
        try:
            asked = erasures.ask(
                names,
                actor=actor,
                seen=options["seen"],
                reason=REASONS[options["reason"]],
                reference=options["reference"],
                others=options["others"],
                thoroughly=options["thoroughly"],
            )
        except Moved:
            self.stderr.write("--seen is out of date: this is not what it showed. As it stands now:")
            self._show(names, options)
            sys.exit(REFUSED)
        return [asked]

    def _show(self, names: list[Called], options: dict[str, Any]) -> None:
        for line in told(erasures.look(names, thoroughly=options["thoroughly"])):
            self.stdout.write(line)

    def _see_through(self, made: list[Erasure]) -> None:
        """Erase what can be at once, and say what waits."""
        left = 0
        for erasure in made:
            if erasure.proposed:
                self.stdout.write(
                    f"Erasure {erasure.pk} is asked for, and waits for a second person: another one who gives the same "
                    "names has it done (--actor), here or in the console. Nothing is erased yet."
                )
                sys.exit(WAITS)
            erasing.carry_on(erasure.pk, within=float("inf"))
            runs = ErasureRun.objects.filter(erasure=erasure)
            waiting = list(runs.filter(state=ErasureState.WAITING.value).order_by("pk"))
            gone = runs.filter(state=ErasureState.ERASED.value).count()
            self.stdout.write(f"Erasure {erasure.pk}: {gone:,} runs erased, {len(waiting):,} wait.")
            for item in waiting[:_LISTED]:
                self.stdout.write(f"  not yet: {item.why}")
            left += len(waiting)
        if left:
            sys.exit(WAITS)


def _lines(names: list[str]) -> Iterator[str]:
    for name in names:
        yield from (line.strip() for line in sys.stdin if line.strip()) if name == "-" else [name]


def told(look: Look) -> list[str]:
    """What an erasure would do, as lines for people."""
    found, holds = look.found, look.found.holds
    lines = [
        f"{len(found.now):,} runs would be erased at once, {len(found.later):,} as soon as nothing stands in the way; "
        f"{len(found.before):,} are erased.",
        f"What goes: {holds.effects:,} effects' payloads and words, {holds.messages:,} messages, "
        f"{holds.checkpoints:,} checkpoints, {holds.frozen:,} frozen results.",
        f"What stays: {holds.events:,} events with digests; amounts, receipts, classes, moments, who decided.",
    ]
    for one in [*found.now, *found.later][:_LISTED]:
        lines.append(f"  {one.ref}{f': not yet, {one.why}' if one.why else ''}")
    if look.kept:
        lines.append(f"{len(look.kept):,} things beside the runs go as well, files all that there are:")
        for kept in look.kept[:_LISTED]:
            about = f", {kept.about}" if kept.about else ""
            lines.append(f"  {kept.kind} {kept.pk}, {kept.who}{about}")
    if found.others:
        runs, others = len([one for one in found.runs if one.others]), len(found.others)
        lines.append(
            f"{runs:,} of them name {others:,} others of the same kind: say --others erase or leave."
        )
    lines.append(f"Nothing is done yet. To erase this and nothing else: --seen {found.seen} --reason …")
    return lines
