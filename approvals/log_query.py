"""The query of the log of acts, as people type it and as its address holds it: `actor:marta from:2026-01-01`.

Text in, text out: what it finds is `queries.act_list`'s. What can't be understood is told in words and finds nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from django.utils import timezone

from approvals import days
from approvals.typed import listed, quoted, slug, split
from durable.states import COURSE, ActKind, EventKind
from durable.text import quoted as told

ACTOR, KIND, ABOUT, FROM, TO, ONLY = "actor", "kind", "about", "from", "to", "only"
#: What acts are found by, each with what it means.
KEYS: dict[str, str] = {
    ACTOR: "who did it: the name of a sign-in, interlock, or a worker",
    KIND: "what was done: several, with commas, for any of them",
    ABOUT: "on what: run-…, an effect's key, gate:12, person:marta, role:auditor, bulk:3, stop:1, hold:2, retention",
    FROM: "not before 2026, 2026-11, 2026-11-29, 2026-11-29T14:30 or today",
    TO: "not after 2026-11-29, all of that day, or 2026-11-29T14:30, all of that minute",
    ONLY: "people, machines or refused",
}
PEOPLE, MACHINES, REFUSED = "people", "machines", "refused"
ONLIES: dict[str, str] = {
    PEOPLE: "By people",
    MACHINES: "By Interlock and its workers",
    REFUSED: "What was refused",
}
#: Every kind of act, as a query has it.
KINDS: dict[str, str] = {
    slug(kind.value): kind.value
    for kind in (*EventKind, *ActKind)
    if not (isinstance(kind, EventKind) and kind in COURSE)
}
#: The kinds that say that something was not let through.
REFUSALS = (
    EventKind.REFUSED_DECISION.value,
    ActKind.REFUSED.value,
    ActKind.MORE_REFUSED.value,
    ActKind.SIGN_IN_REFUSED.value,
)
_SECOND = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)")
_FIELDS = {KIND: "kinds", FROM: "since", TO: "until"}


@dataclass(frozen=True, slots=True)
class LogQuery:
    """Which acts are looked for: every part must hold, of several kinds any. `since` and `until` are as typed.

    `problems` are sentences about what could not be understood; then nothing is to be found.
    """

    actor: str = ""
    kinds: tuple[str, ...] = ()
    about: str = ""
    since: str = ""
    until: str = ""
    only: str = ""
    problems: tuple[str, ...] = ()
    #: When `today` is meant; None where no day is said by a word.
    now: datetime | None = field(default=None, compare=False)

    @property
    def begins(self) -> datetime | None:
        """The first moment of the time that is asked for."""
        found = _span(self.since, self.now)
        return found[0] if found else None

    @property
    def ends(self) -> datetime | None:
        """The first moment after it."""
        found = _span(self.until, self.now)
        return found[1] if found else None

    @property
    def stored_kinds(self) -> list[str] | None:
        """The kinds as the ledger has them; None for any."""
        named = [KINDS[one] for one in self.kinds] or None
        if self.only != REFUSED:
            return named
        return [kind for kind in REFUSALS if named is None or kind in named]

    @property
    def parts(self) -> list[tuple[str, str]]:
        """What the query asks for, as key and value."""
        found = [
            (ACTOR, self.actor),
            (KIND, ",".join(self.kinds)),
            (ABOUT, self.about),
            (FROM, self.since),
            (TO, self.until),
            (ONLY, self.only),
        ]
        return [(key, value) for key, value in found if value]

    def __str__(self) -> str:
        return " ".join(f"{key}:{quoted(value)}" for key, value in self.parts)

    def with_only(self, only: str) -> LogQuery:
        """The same query about people's acts, machines', refused ones, or all."""
        return replace(self, only=only)

    def without(self, key: str) -> LogQuery:
        """The same query without one of its parts."""
        emptied: dict[str, Any] = {_FIELDS.get(key, key): () if key == KIND else ""}
        return replace(self, **emptied)


def parse(text: str, now: datetime | None = None) -> LogQuery:
    """Read a query. Never raises: what is wrong with it stands in `problems`, one sentence each.

    With `now`, today and yesterday are the days that they were then, whenever the query is asked; without it they are
    those of the present moment by the database's clock.
    """
    values: dict[str, str] = {}
    problems: list[str] = []
    for key, value, whole in split(text):
        if not whole:
            continue
        if whole.lower().startswith("run-"):
            key, value = ABOUT, whole
        key = key or ACTOR
        if key not in KEYS:
            problems.append(f"Acts are not found by {key}:. Use {listed([*KEYS])}.")
        elif not value:
            problems.append(f"{key}: needs a value after the colon, without a space between.")
        elif key in values:
            again = " For any of several, write kind:approved,rejected." if key == KIND else ""
            problems.append(f"{key}: stands twice; keep one.{again}")
        else:
            values[key] = value
    for key in (FROM, TO):
        back = days.SAID.get(values.get(key, "").lower())
        if now is not None and back is not None:
            values[key] = (days.today(now) - timedelta(days=back)).isoformat()
    kinds = tuple(dict.fromkeys(filter(None, map(slug, values.get(KIND, "").split(",")))))
    now = now or days.meant_at(values.get(FROM, ""), values.get(TO, ""))
    problems += _wrong(values, kinds, now)
    return LogQuery(
        values.get(ACTOR, ""),
        tuple(kind for kind in kinds if kind in KINDS),
        values.get(ABOUT, ""),
        values.get(FROM, ""),
        values.get(TO, ""),
        values.get(ONLY, "").lower(),
        tuple(problems),
        now,
    )


def _wrong(values: dict[str, str], kinds: tuple[str, ...], now: datetime | None) -> list[str]:
    """What is wrong with values of which each has a key that is known."""
    problems = [
        f"kind: there is no {told(kind)}; choose one of the list." for kind in kinds if kind not in KINDS
    ]
    if KIND in values and not kinds:
        problems.append("kind: names none; choose one of the list.")
    spans = {key: _span(values[key], now) for key in (FROM, TO) if key in values}
    problems += [
        f"{key}: must be a day such as 2026-11-29, or a moment such as 2026-11-29T14:30, not {told(values[key])}."
        for key, span in spans.items()
        if span is None
    ]
    first, last = spans.get(FROM), spans.get(TO)
    if first and last and first[0] >= last[1]:
        problems.append(f"to: must not lie before from:, and {told(values[TO])} does.")
    if ONLY in values and values[ONLY].lower() not in ONLIES:
        problems.append(f"only: must be {listed([*ONLIES])}, not {told(values[ONLY])}.")
    return problems


def _span(text: str, now: datetime | None) -> tuple[datetime, datetime] | None:
    """The year, month, day, minute or second that a text means, in the reader's zone: its first moment, and the first
    after it."""
    found = _SECOND.fullmatch(text)
    if found is None:
        stretch = days.read(text, now) if text else None
        return None if stretch is None else (stretch.start, stretch.end)
    try:
        local = datetime.fromisoformat(f"{found[1]}T{found[2]}")
        # An hour that the clocks go through twice is meant both times.
        first, second = (_moment(local, fold) for fold in (0, 1))
        return min(first, second), max(first, second) + timedelta(seconds=1)
    except (ValueError, OverflowError):
        return None


def _moment(local: datetime, fold: int = 0) -> datetime:
    return timezone.make_aware(local.replace(fold=fold)).astimezone(UTC)
