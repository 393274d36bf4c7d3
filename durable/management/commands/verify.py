"""`manage.py verify`: has anybody changed what the ledger says? Or, with `--proof RUN NO`, the proof of one event.

Everything is read in one snapshot while work goes on. Exit code 0 where everything holds, 1 where anything was found,
2 where it could not be looked at.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from datetime import UTC
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser

from durable.errors import InterlockError, Invalid
from durable.management.commands.start import REFUSED
from durable.roots import proofs, signing, verify
from durable.roots.merkle import sides
from durable.roots.reading import snapshot
from durable.roots.verify import Report

#: Findings that are printed; the rest is counted.
SHOWN = 100


class Command(BaseCommand):
    help = "Hold every chain, root, signature, row and sealed box of the ledger against each other."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--anchors",
            type=Path,
            action="append",
            default=[],
            help="a file of what was kept outside; may be given again. Without it a superuser's work can't be excluded",
        )
        parser.add_argument(
            "--key",
            action="append",
            default=[],
            help="a public key that counts, beside this installation's own; may be given again",
        )
        parser.add_argument(
            "--without-payloads",
            action="store_true",
            help="chains, roots and anchors alone: no rows of effects, decisions and sealed boxes",
        )
        parser.add_argument(
            "--proof", nargs=2, metavar=("RUN", "NO"), help="print how one event stands in its signed root"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Prints findings as they come, then what was gone through and what can't be proven."""
        try:
            code = self._prove(*options["proof"]) if options["proof"] else self._verify(options)
        except (InterlockError, OSError) as refusal:
            self.stderr.write(str(refusal))
            code = REFUSED
        sys.exit(code)

    def _verify(self, options: dict[str, Any]) -> int:
        trusted = signing.trusted() | {signing.checked(key) for key in options["key"]}
        if not trusted:
            raise signing.NoKey(
                "no public key to hold signatures against: give --key, or set INTERLOCK_PUBLIC_KEYS"
            )
        for file in options["anchors"]:
            _readable(file)
        report, found = Report(), 0
        lines = _lines(options["anchors"]) if options["anchors"] else None
        with snapshot() as wire:
            for finding in verify.findings(
                wire, report, trusted=trusted, lines=lines, payloads=not options["without_payloads"]
            ):
                found += 1
                if found <= SHOWN:
                    self.stdout.write(f"FOUND {finding}")
        at_hand = Path(settings.INTERLOCK_ANCHOR_FILE)
        hint = at_hand if lines is None and at_hand.is_file() else None
        for line in _told(report, found, payloads=not options["without_payloads"], hint=hint):
            self.stdout.write(line)
        return 1 if found else 0

    def _prove(self, run: str, no: str) -> int:
        if not no.isdecimal():
            raise InterlockError(f"the number of an event is a whole number; {no!r} is none")
        with snapshot() as wire:
            event = proofs.of_event(wire, run, int(no))
        for line in _proof(event):
            self.stdout.write(line)
        return 0 if event.proven else 1


def _readable(file: Path) -> None:
    """Raise Invalid where a file can't be read: before hours are spent on the rest."""
    try:
        file.open("rb").close()
    except OSError as error:
        raise Invalid(
            "--anchors",
            f"{file} can't be read ({error.strerror}): name a file of roots that was kept outside",
        ) from None


def _lines(files: Iterable[Path]) -> Iterator[str]:
    for file in files:
        with file.open(encoding="utf-8", errors="replace") as opened:
            yield from opened


def _told(report: Report, found: int, *, payloads: bool, hint: Path | None) -> Iterator[str]:
    """What was gone through, and the window in which nothing can be proven; `hint` is a file that could shorten it."""
    walked, covered, kept, held = report.walked, report.covered, report.kept, report.held
    if found > SHOWN:
        yield f"… and {found - SHOWN:,} more"
    yield f"{walked.events:,} events in {walked.chains:,} chains"
    gone = f"; the {covered.gone:,} of periods that have gone are not there any more" if covered.gone else ""
    yield f"{covered.statements:,} signed roots over {covered.events:,} of them{gone}"
    if payloads:
        erased = f", of which {held.erased:,} nobody can open any more" if held.erased else ""
        yield f"{held.effects:,} effects, {held.boxes:,} sealed boxes{erased}"
    yield f"{kept.lines:,} lines that were kept outside; the newest root among them is {kept.newest or 'none'}"
    yield from kept.notes
    window = report.window
    if window is not None and window.events:
        since = f"{window.since.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC" if window.since else "no known moment"
        yield (
            f"NOT PROVEN: {window.events:,} events since {since}, which no root outside covers: "
            "a superuser of the database could have changed them, and nobody would know"
        )
        if hint is not None:
            yield (
                f"Roots are kept in {hint}: pass --anchors {hint} to hold them against it. It proves nothing against "
                "whoever could change that file too"
            )
    yield f"{found:,} findings" if found else "everything holds"


def _proof(event: proofs.Proven) -> Iterator[str]:
    """One event, and its way to the root, from below: on which side the other hash stands."""
    yield f"event {event.no} of {event.run}: {event.kind} by {event.actor} at {event.at}"
    yield f"follows   {event.previous or 'nothing: it is the first of its run'}"
    yield f"hash      {event.hash}"
    proof = event.proof
    if proof is None:
        yield "it is in no root yet"
        return
    yield f"leaf      {proof.place} of {proof.statement.count} in root {proof.statement.number}, id {event.id}"
    for left, hash in zip(sides(proof.place, proof.statement.count), proof.path, strict=False):
        yield f"{'left' if left else 'right':<9} {hash.hex()}"
    yield f"root      {event.leads_to() or 'none: the path is not of the right length'}"
    yield "which is the hash that was signed:" if event.proven else "WHICH IS NOT THE HASH THAT WAS SIGNED:"
    yield proof.statement.text()
