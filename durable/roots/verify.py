"""Everything that can be held against everything else, in one snapshot, with memory that does not grow.

Chains against their rows and heads, statements against events and signatures, the database against what was kept
outside, rows, sealed boxes and statements of vendors against the events that name them. What the console keeps beside
the ledger is held against it by the functions that INTERLOCK_EVIDENCE names.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field

from django.conf import settings
from django.utils.module_loading import import_string

from durable.roots import chains, effects, outside, periods, vendors
from durable.roots.reading import Finding, Wire, stream


@dataclass(slots=True)
class Report:
    """What has been gone through, and what nobody can prove yet. Complete when `findings` has come to its end."""

    walked: chains.Walked = field(default_factory=chains.Walked)
    covered: periods.Covered = field(default_factory=periods.Covered)
    kept: outside.Kept = field(default_factory=outside.Kept)
    held: effects.Held = field(default_factory=effects.Held)
    window: outside.Window | None = None


def findings(
    wire: Wire,
    report: Report,
    *,
    trusted: Collection[str],
    lines: Iterable[str] | None = None,
    payloads: bool = True,
) -> Iterator[Finding]:
    """Yield everything that is not as it must be, inside the open transaction of `wire` (`reading.snapshot`).

    `trusted` are the public keys whose signatures count, `lines` what was kept outside, None where nobody has brought
    it. Without `payloads` only chains and statements are read. Raises vault.WrongKey with them.
    """
    yield from chains.check(wire, report.walked)
    yield from periods.check(wire, trusted, report.covered)
    seen = report.covered.events + report.covered.beyond
    if seen != report.walked.events:
        yield Finding(
            f"one index of the events leads to {seen} of them, another to {report.walked.events}: REINDEX TABLE "
            "durable_ledgerevent and verify again"
        )
    if lines is not None:
        yield from outside.check(wire, lines, trusted, report.kept)
    report.window = outside.window(wire, report.kept.newest)
    if payloads:
        yield from effects.check(wire, report.held)
        yield from effects.check_sealed(wire, report.held)
        yield from vendors.check(wire)
        for path in settings.INTERLOCK_EVIDENCE:
            yield from import_string(path)(wire)
    yield from _guards(wire)


def going(wire: Wire, *, number: int, last: int, trusted: Collection[str]) -> Iterator[Finding]:
    """Yield what is wrong with the events up to the id `last`, that of root `number`, before they go for good."""
    yield from chains.links(wire, chains.Walked(), last)
    yield from periods.check(wire, trusted, periods.Covered(), number=number, last=last)


_GUARDS = """
SELECT c.relname || '.' || t.tgname FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
WHERE c.relnamespace = 'public'::regnamespace AND NOT t.tgisinternal AND t.tgenabled = 'A'
"""
#: The triggers without which the ledger is not what it is.
GUARDS = frozenset(
    {
        "durable_ledgerevent.chain_event",
        "durable_ledgerevent.goes_by_cut",
        "durable_root.cut_is_signed",
        *(f"{table}.{name}" for table in ("durable_ledgerevent", "durable_root", "durable_cut")
          for name in ("only_grows", "never_emptied")),
        *(f"durable_chain.{name}" for name in ("moved_by_events", "chain_only_grows", "chain_never_emptied")),
    }
)  # fmt: skip


def _guards(wire: Wire) -> Iterator[Finding]:
    """Guards that are missing or turned off now, which is not how an update leaves them."""
    there = {name for (name,) in stream(wire, _GUARDS)}
    for name in sorted(GUARDS - there):
        yield Finding(f"the trigger {name} is missing or turned off")
