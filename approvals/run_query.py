"""The query of the runs list, as people type it and as its address holds it: `agent:RefundDesk status:stuck`.

Text in, text out: what it finds is `queries.finding`'s. What can't be understood is told in words and finds nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from approvals import days
from approvals.typed import chosen, read, slug, written
from durable.states import RunState
from durable.text import quoted as told

STATUS, AGENT, SUBJECT, OLDER, REF = "status", "agent", "subject", "older-than", "ref"
FROM, TO = "from", "to"
#: What runs are found by, each with what it means.
KEYS: dict[str, str] = {
    STATUS: "where it stands",
    AGENT: "whose run it is: a name or its beginning",
    SUBJECT: "the order or customer that an effect of it is about",
    OLDER: "started longer ago than 30m, 4h or 2d",
    FROM: "started on that day or later: 2026, 2026-03, 2026-03-09, today",
    TO: "started on that day or earlier, the day included",
    REF: "its id or the beginning of it",
}

STUCK, WAITING, IN_DOUBT, EXPIRING, HELD = "stuck", "waiting", "in-doubt", "expiring", "held"
#: Reasons for which people look at runs, beside the states; each is an open wait.
REASONS: dict[str, str] = {
    STUCK: "a person must look",
    WAITING: "waits for people's answer at a gate",
    IN_DOUBT: "nobody can tell whether an effect happened",
    EXPIRING: "a gate of it must be answered today",
    HELD: "stopped by an operator until released",
}

STATES: dict[str, RunState] = {slug(state.value): state for state in RunState}
STATUSES = (*REASONS, *STATES)
#: Words that addresses have had.
_ALSO = {"gate": WAITING}

_AGE = re.compile(r"(\d{1,6})([mhdw])")
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_OLDEST = timedelta(days=36_500)


@dataclass(frozen=True, slots=True)
class RunQuery:
    """What runs are looked for: every part must hold, of several statuses any. `text` is an id, an agent or a subject.

    `problems` are sentences about what could not be understood; then nothing is to be found.
    """

    statuses: tuple[str, ...] = ()
    agent: str = ""
    subject: str = ""
    older_than: str = ""
    since: str = ""
    until: str = ""
    ref: str = ""
    text: str = ""
    problems: tuple[str, ...] = ()
    #: When `today` is meant; None where no day is said by a word.
    now: datetime | None = field(default=None, compare=False)

    @property
    def age(self) -> timedelta | None:
        """How long ago a run must have started at least, where the query says so."""
        return _age(self.older_than)

    @property
    def start(self) -> datetime | None:
        """The first moment at which a run may have started, in the reader's zone."""
        found = days.read(self.since, self.now)
        return None if found is None else found.start

    @property
    def end(self) -> datetime | None:
        """The first moment after those."""
        found = days.read(self.until, self.now)
        return None if found is None else found.end

    @property
    def parts(self) -> list[tuple[str, str]]:
        """What the query asks for, as key and value; the text's key is empty."""
        found = [
            (STATUS, ",".join(self.statuses)),
            (AGENT, self.agent),
            (SUBJECT, self.subject),
            (OLDER, self.older_than),
            (FROM, self.since),
            (TO, self.until),
            (REF, self.ref),
            ("", self.text),
        ]
        return [(key, value) for key, value in found if value]

    def __str__(self) -> str:
        return written(self.parts)

    def of(self, *statuses: str) -> RunQuery:
        """The same query with these statuses in the place of its own."""
        return replace(self, statuses=statuses)

    def without(self, key: str) -> RunQuery:
        """The same query without one of its parts; the text's key is empty."""
        name = {STATUS: "statuses", OLDER: "older_than", FROM: "since", TO: "until", "": "text"}.get(key, key)
        emptied: dict[str, Any] = {name: () if key == STATUS else ""}
        return replace(self, **emptied)


def parse(text: str, now: datetime | None = None) -> RunQuery:
    """Read a query. Never raises: what is wrong with it stands in `problems`, one sentence each.

    `now` is when `today` is meant; without it that is the present moment by the database's clock.
    """
    typed = read(text, KEYS, "Runs", {STATUS: "failed,failing"})
    values, problems = typed.values, typed.problems
    # Of an effect's key: its run's id comes before the colon.
    words = [_run_of(word) for word in typed.words]
    asked = ",".join(_ALSO.get(slug(word), word) for word in values.pop(STATUS, "").split(","))
    statuses, unknown = chosen(STATUS, asked, STATUSES)
    problems += unknown
    if OLDER in values and _age(values[OLDER]) is None:
        problems.append(f"older-than: must be like 30m, 4h or 2d, not {told(values[OLDER])}.")
    now = now or days.meant_at(values.get(FROM, ""), values.get(TO, ""))
    problems += days.wrong(values.get(FROM, ""), values.get(TO, ""), now)
    return RunQuery(
        statuses,
        values.get(AGENT, ""),
        values.get(SUBJECT, ""),
        values.get(OLDER, "").lower(),
        values.get(FROM, ""),
        values.get(TO, ""),
        values.get(REF, ""),
        " ".join(words),
        tuple(problems),
        now,
    )


def _run_of(word: str) -> str:
    """The run that an effect's key begins with; any other word as it is, and so a text of several words in quotes."""
    return word.partition(":")[0] if word.lower().startswith("run-") and len(word.split()) == 1 else word


def _age(text: str) -> timedelta | None:
    found = _AGE.fullmatch(text.lower())
    if found is None:
        return None
    age = timedelta(**{_UNITS[found[2]]: int(found[1])})
    return age if age <= _OLDEST else None
