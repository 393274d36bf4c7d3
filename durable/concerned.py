"""Which runs have to do with somebody, and what they hold: read before an erasure, and shown as it is read.

Runs are found by the keyed hashes of the subjects of their effects, and by what was written into them: a run that
touched nothing has no subject, and its input may name somebody all the same. Forks share their parent's conversation,
so a run, its parents and its forks are one family, of which all is erased or nothing.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.conf import settings

from durable.digest import canonical, keyed_hash, normal
from durable.errors import Invalid
from durable.sql import answer, answers, listed
from durable.states import ENDED, UNSETTLED
from durable.text import check_text

#: Characters of the shortest name that is looked for in what was written: shorter ones stand everywhere.
SHORTEST = 4
#: More runs than this are no one person's.
MOST = 20_000

_BY_SUBJECT = "SELECT run_id FROM durable_subject WHERE hash = ANY(%(hashes)s::text[])"
_WRITTEN = """
SELECT id FROM durable_run WHERE input::text ~* %(words)s OR result::text ~* %(words)s OR error ~* %(words)s
    OR start_key ~* %(words)s
"""
_THOROUGHLY = f"""
{_WRITTEN}
UNION SELECT r.id FROM durable_message m JOIN durable_run r ON r.branch_id = m.branch_id
    WHERE m.content::text ~* %(words)s
UNION SELECT run_id FROM durable_checkpoint WHERE state::text ~* %(words)s
UNION SELECT run_id FROM durable_frozen WHERE result::text ~* %(words)s
UNION SELECT run_id FROM durable_signal WHERE payload::text ~* %(words)s
UNION SELECT run_id FROM durable_effect WHERE failure ~* %(words)s
UNION SELECT run_id FROM durable_wait WHERE detail::text ~* %(words)s OR answer::text ~* %(words)s
"""
_KIN = """
WITH RECURSIVE kin (id) AS (
    SELECT unnest(%(runs)s::bigint[])
    UNION
    SELECT near.id FROM kin, LATERAL (
        SELECT c.id FROM durable_run c WHERE c.parent_id = kin.id
        UNION ALL SELECT p.parent_id FROM durable_run p WHERE p.id = kin.id AND p.parent_id IS NOT NULL
    ) AS near (id)
)
"""
_RUNS = f"""
{_KIN}
SELECT r.id, r.ref, r.agent, r.state, r.parent_id, r.ended_at,
    (SELECT max(x.at) FROM durable_erasurerun x WHERE x.run_id = r.id AND x.state = 'erased') AS gone,
    EXISTS (SELECT FROM durable_effect e WHERE e.run_id = r.id AND e.state IN ({listed(UNSETTLED)})) AS unsettled,
    EXISTS (SELECT FROM durable_wait w WHERE w.run_id = r.id AND w.state = 'open') AS asked,
    (SELECT count(*) FROM durable_effect e WHERE e.run_id = r.id) AS effects,
    EXISTS (SELECT FROM durable_heldrun h WHERE h.run_id = r.id) AS held
FROM kin JOIN durable_run r ON r.id = kin.id
ORDER BY r.id
"""
_OTHERS = """
SELECT s.kind, s.hash, array_agg(DISTINCT e.run_id)
FROM durable_effect e JOIN durable_subject s ON s.effect_id = e.id
WHERE e.run_id = ANY(%(runs)s::bigint[]) AND s.kind = ANY(%(kinds)s::text[]) AND s.hash <> ALL(%(hashes)s::text[])
GROUP BY s.kind, s.hash ORDER BY s.kind, s.hash
"""
_HOLD = """
SELECT (SELECT count(*) FROM durable_message m JOIN durable_run r ON r.branch_id = m.branch_id
            WHERE r.id = ANY(%(runs)s::bigint[])),
    (SELECT count(*) FROM durable_checkpoint WHERE run_id = ANY(%(runs)s::bigint[])),
    (SELECT count(*) FROM durable_frozen WHERE run_id = ANY(%(runs)s::bigint[])),
    (SELECT count(*) FROM durable_effect WHERE run_id = ANY(%(runs)s::bigint[])),
    (SELECT count(*) FROM durable_ledgerevent v JOIN durable_run r ON r.ref = v.run_ref
            WHERE r.id = ANY(%(runs)s::bigint[])),
    (SELECT json_agg(json_build_array(m.currency, m.minor) ORDER BY m.currency)::text FROM (
        SELECT currency, sum(amount_minor)::bigint AS minor FROM durable_effect
        WHERE run_id = ANY(%(runs)s::bigint[]) AND state = 'applied' AND undo_of_id IS NULL
            AND amount_minor IS NOT NULL
        GROUP BY currency) m)
"""


@dataclass(frozen=True, slots=True)
class Called:
    """One name of the person: `kind` is what it is (customer, order), `text` the name."""

    kind: str
    text: str

    @property
    def hash(self) -> str:
        """The keyed hash under which effects about it are filed."""
        return keyed_hash(self.kind, self.text, settings.INTERLOCK_HASH_KEY)


@dataclass(frozen=True, slots=True)
class One:
    """A run that has to do with the person. `why` it can't be erased yet, or ""; `gone` since when it is erased.

    `family` is the number of its oldest forebear, `others` those of whom it names besides; `held`: by a legal hold.
    """

    id: int
    ref: str
    agent: str
    state: str
    family: int
    ended_at: datetime | None
    gone: datetime | None
    effects: int
    why: str
    others: tuple[int, ...] = ()
    held: bool = False


@dataclass(frozen=True, slots=True)
class Other:
    """Somebody else of the same kind whom these runs name: they lose what the runs hold of them, too."""

    kind: str
    hash: str
    runs: int


@dataclass(frozen=True, slots=True)
class Holds:
    """How much erasable runs hold: what goes, and what stays: effects, events, and money by currency (minor units)."""

    messages: int = 0
    checkpoints: int = 0
    frozen: int = 0
    effects: int = 0
    events: int = 0
    money: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Found:
    """All that is shown before an erasure; `beside`: by kind, the numbers of what others keep of them."""

    called: tuple[Called, ...]
    runs: tuple[One, ...] = ()
    others: tuple[Other, ...] = ()
    holds: Holds = field(default_factory=Holds)
    beside: Mapping[str, Sequence[int]] = field(default_factory=dict)

    @property
    def now(self) -> list[One]:
        """Runs that can be erased at once."""
        return [one for one in self.runs if not one.why and one.gone is None]

    @property
    def later(self) -> list[One]:
        """Runs that can't be erased yet."""
        return [one for one in self.runs if one.why and one.gone is None]

    @property
    def before(self) -> list[One]:
        """Runs that were erased before."""
        return [one for one in self.runs if one.gone is not None]

    @property
    def seen(self) -> str:
        """A short name of what this shows: an erasure is of what somebody has seen, and of nothing else."""
        shown = [
            sorted(one.hash for one in self.called),
            [(one.ref, bool(one.why), one.gone is None) for one in self.runs],
            [(one.hash, one.runs) for one in self.others],
            *([sorted((kind, list(pks)) for kind, pks in self.beside.items())] if self.beside else []),
        ]
        return hashlib.sha256(canonical(shown)).hexdigest()[:24]


def find(called: Sequence[Called], *, thoroughly: bool = False) -> Found:
    """Find the runs that have to do with somebody by any of their names.

    `thoroughly` also reads conversations, states and results for their names, which may take minutes where there are
    many. Raises Invalid for a name that is empty or no text, and for names that too many runs bear.
    """
    if not called:
        raise Invalid("names", "give at least one name, such as customer:ann@example.org")
    for one in called:
        if not check_text(one.text, one.kind).strip():
            raise Invalid(one.kind, "must not be empty")
    hashes = [one.hash for one in called]
    words, written = pattern(called), _THOROUGHLY if thoroughly else _WRITTEN
    sql = f"{_BY_SUBJECT} UNION {written}" if words else _BY_SUBJECT
    ids = {id for (id,) in answers(sql, {"hashes": hashes, "words": words})}
    if len(ids) > MOST:
        raise Invalid(
            "names", f"{len(ids):,} runs have to do with them, more than {MOST:,}; give another name"
        )
    kinds = sorted({one.kind for one in called})
    others = answers(_OTHERS, {"runs": sorted(ids), "kinds": kinds, "hashes": hashes})
    runs = of(ids, others=[row[2] for row in others])
    now = [one.id for one in runs if not one.why and one.gone is None]
    return Found(
        tuple(called),
        tuple(runs),
        tuple(Other(kind, hash, len(found)) for kind, hash, found in others),
        _held_by(now),
    )


def of(ids: Collection[int], *, others: Sequence[Iterable[int]] = ()) -> list[One]:
    """These runs with all their kin, and why each can't be erased yet. A family is erased together, or waits together.

    `others` are the runs of each of those whom they name besides.
    """
    rows = answers(_RUNS, {"runs": sorted(ids)})
    families = _families({row[0]: row[4] for row in rows})
    named = {id for found in others for id in found}
    whose = defaultdict(set)
    for place, found in enumerate(others):
        for id in found:
            whose[families.get(id, id)].add(place)
    assert named <= families.keys()
    why: dict[int, str] = {}
    for row in rows:
        if reason := _why(row):
            why.setdefault(families[row[0]], f"{row[1]} {reason}")
    return [
        One(
            id=row[0],
            ref=row[1],
            agent=row[2],
            state=row[3],
            family=families[row[0]],
            ended_at=row[5],
            gone=row[6],
            effects=row[9],
            why=why.get(families[row[0]], ""),
            others=tuple(sorted(whose[families[row[0]]])),
            held=row[10],
        )
        for row in rows
    ]


def _why(row: tuple[Any, ...]) -> str:
    """Why a run can't be erased yet, in words that follow its id."""
    state, unsettled, asked = row[3], row[7], row[8]
    if unsettled:
        return "has an effect that is not settled"
    if state not in ENDED:
        return f"is {state}"
    if row[10]:
        return "is under a legal hold"
    return "has something that a person must look at" if asked else ""


def _families(parents: Mapping[int, int | None]) -> dict[int, int]:
    """For each run its oldest forebear. A parent is older than its forks."""
    found: dict[int, int] = {}
    for id in sorted(parents):
        parent = parents[id]
        found[id] = id if parent is None else found.get(parent, parent)
    return found


def pattern(called: Sequence[Called]) -> str:
    """A regular expression of PostgreSQL's that finds the names, where no letter or digit goes on with them: as they
    are, and as JSON has them, which writes quotes and backslashes otherwise.
    """
    texts = {text for one in called if len(text := one.text.strip()) >= SHORTEST}
    written = texts | {json.dumps(text, ensure_ascii=False)[1:-1] for text in texts}
    if not written:
        return ""
    return rf"(?<![[:alnum:]])({'|'.join(map(re.escape, sorted(written)))})(?![[:alnum:]])"


def names(called: Sequence[Called], text: str) -> bool:
    """Whether a text names somebody, by the rule by which runs are found: "12 months" names no order 12."""
    plain = normal(text)
    wanted = (normal(one.text) for one in called if len(one.text.strip()) >= SHORTEST)
    return any(re.search(rf"(?<![^\W_]){re.escape(one)}(?![^\W_])", plain) for one in wanted)


def stands_in(called: Called, text: str) -> bool:
    """Whether a text holds a name at all, be it within a word: for what may name nobody. Nothing is erased by it."""
    return bool(called.text.strip()) and normal(called.text) in normal(text)


def _held_by(ids: list[int]) -> Holds:
    row = answer(_HOLD, {"runs": ids}) or (0, 0, 0, 0, 0, None)
    money = tuple((currency, minor) for currency, minor in json.loads(row[5] or "[]"))
    return Holds(row[0], row[1], row[2], row[3], row[4], money)
