"""Goes through every chain: each event's hash from its own row and the hash before it, and each chain's head."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from durable.roots.reading import Finding, Wire, one, stream

#: So far the database's clock may have been set back between two events of a run.
SET_BACK = timedelta(minutes=1)
_NEVER = datetime.min.replace(tzinfo=UTC) + 2 * SET_BACK

#: A moment that no clock shows comes as none: it can't be read, and was never written by the trigger.
_EVENTS = """
SELECT run_ref, no, kind, effect_key, actor, CASE WHEN at BETWEEN '0001-01-02' AND '9999-12-30' THEN at END, body, hash
FROM durable_ledgerevent WHERE id <= %s ORDER BY run_ref, no, id
"""
_CUT = "SELECT no, hash FROM durable_cut WHERE run_ref = %s ORDER BY root_id DESC LIMIT 1"
#: Heads that are not those of the last event; a chain all of whose events have gone ends where it was cut.
_HEADS = """
SELECT c.run_ref, c.no, coalesce(e.no, k.no) FROM durable_chain c
LEFT JOIN LATERAL (
    SELECT no, hash FROM durable_ledgerevent e WHERE e.run_ref = c.run_ref ORDER BY no DESC LIMIT 1
) e ON true
LEFT JOIN LATERAL (
    SELECT no, hash FROM durable_cut k WHERE e.no IS NULL AND k.run_ref = c.run_ref ORDER BY root_id DESC LIMIT 1
) k ON true
WHERE (c.no, c.head) IS DISTINCT FROM (coalesce(e.no, k.no), coalesce(e.hash, k.hash))
ORDER BY c.run_ref
"""
_HEADLESS = """
SELECT DISTINCT run_ref FROM durable_ledgerevent e
WHERE NOT EXISTS (SELECT FROM durable_chain c WHERE c.run_ref = e.run_ref)
ORDER BY run_ref
"""


@dataclass(slots=True)
class Walked:
    """How much has been gone through."""

    events: int = 0
    chains: int = 0


def check(wire: Wire, walked: Walked) -> Iterator[Finding]:
    """Yield what is wrong with the chains; counts in `walked` what it has gone through."""
    yield from links(wire, walked)
    for run, head, last in stream(wire, _HEADS):
        yield Finding(_other_end(head, last), run, head)
    for (run,) in stream(wire, _HEADLESS):
        yield Finding("it has events, and its chain has no head", run, 1)


def links(wire: Wire, walked: Walked, upto: int = 2**63 - 1) -> Iterator[Finding]:
    """Each event, up to the one with the id `upto`, against the one before it. After a finding it goes on from what is
    stored, so that one change is one finding, and the next one is found as well.
    """
    present, head, last, latest = "", b"", 0, _NEVER
    for run, no, kind, key, actor, at, body, stored in stream(wire, _EVENTS, [upto]):
        walked.events += 1
        known = True
        if run != present:
            walked.chains += 1
            present, head, last, latest = run, b"", 0, _NEVER
            if no != 1:
                last, head, known = _after_cut(wire, run, no)
        if no == last:
            yield Finding(f"a second event has the number {no}", run, no)
            continue
        if no != last + 1:
            yield Finding(f"it is missing; the next that is there is {no}", run, last + 1)
            known = False
        moment = "" if at is None else f"{at.isoformat(timespec='microseconds')[:26]}Z"
        lines = f"interlock-1\n{run}\n{no}\n{kind}\n{key}\n{actor}\n{moment}\n{body}"
        if known and hashlib.sha256(head + lines.encode()).digest() != stored:
            yield Finding("its hash is not what its row and the event before it make", run, no)
        if at is None or at < latest - SET_BACK:
            yield Finding("it is dated before the event that it follows, or to no moment at all", run, no)
        head, last, latest = stored, no, at or latest


def _other_end(head: int, last: int | None) -> str:
    if head == last:
        return "the head of its chain has another hash than this last event"
    ends = "no event is there" if last is None else f"the last that is there is {last}"
    return f"the head of its chain says that this is the last event; {ends}"


def _after_cut(wire: Wire, run: str, first: int) -> tuple[int, bytes, bool]:
    """Where a chain goes on that does not begin with 1: the number and hash that its first event follows, and whether
    the hash is known. While the events of a period are on their way out, some from before the cut are still there.
    """
    cut = one(wire, _CUT, [run])
    if cut is None or cut[0] < first - 1:
        return 0 if cut is None else cut[0], b"", False
    no, hash = cut
    return (no, bytes(hash), True) if no == first - 1 else (first - 1, b"", False)
