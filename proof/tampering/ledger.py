"""The ledger that is tampered with: invented history, work that goes on in it, roots, and what was kept of them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg
from django.db import transaction
from django.test.utils import override_settings

from durable import journal
from durable.models import Run
from durable.roots import builder, keeping
from durable.states import EventKind
from durable.transitions import lock_run
from local.demodata import load
from local.demodata.cast import plan
from proof.tampering.hand import Wire, superuser

#: Runs of the invented history, and events of one root: some tens of roots over some hundreds of events.
RUNS, SIZE = 30, 25


@dataclass
class Ledger:
    """The superuser's connection, and the file in which an anchor has kept the roots."""

    wire: Wire
    file: Path
    runs: list[str] = field(default_factory=list)

    def lines(self) -> list[str]:
        """What was kept outside."""
        return self.file.read_text().splitlines()

    def goes_on(self, chance: random.Random) -> None:
        """Some ordinary work, of which roots are made and kept."""
        for ref in chance.sample(self.runs, 3):
            with transaction.atomic():
                journal.record(lock_run(ref), EventKind.HELD, actor="olga", words="a look at it")
        self.root()

    def root(self) -> None:
        """Make the roots that are due, and have them kept."""
        builder.build(size=SIZE)
        if keeping.keep():
            raise RuntimeError("the file of roots could not be written")


@contextmanager
def filled() -> Iterator[Ledger]:
    """Fill the empty database, make and keep the first roots, and open the superuser's connection."""
    order = load.Order(plan(runs=RUNS, seed=1), 1, 2.0, datetime.now(UTC))
    load.fill(order, lambda _line: None)
    with TemporaryDirectory(prefix="interlock-roots-") as folder, psycopg.connect(superuser()) as wire:
        file = Path(folder) / "roots.jsonl"
        with override_settings(
            INTERLOCK_ANCHORS=["durable.roots.anchors.File"], INTERLOCK_ANCHOR_FILE=str(file)
        ):
            found = Ledger(wire, file, list(Run.objects.order_by("id").values_list("ref", flat=True)))
            found.root()
            yield found
