"""The query of the ledger, as people type it and as its address holds it: `customer:ann* tool:refund from:2025`.

Text in, text out: what it finds is `queries.searching`'s. What can't be understood is told in words and finds nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

from approvals import days
from approvals.typed import Word, chosen, read, slug, split, written
from durable.money import EXPONENTS, MAX_MINOR
from durable.states import EffectState
from durable.text import quoted as told

SUBJECT, AMOUNT, CURRENCY, VENDOR, RECEIPT, TOOL = (
    "subject",
    "amount",
    "currency",
    "vendor",
    "receipt",
    "tool",
)
AGENT, DECIDED_BY, REASON, STATE, UNDO, FROM, TO, KEY = (
    "agent",
    "decided-by",
    "reason",
    "state",
    "undo",
    "from",
    "to",
    "key",
)
#: What effects are found by, each with what it means. The kinds of subjects that tools declare come before them.
KEYS: dict[str, str] = {
    SUBJECT: "whom it is about, an e-mail address too; ann* for names that begin so, *ann* for those that contain it",
    AMOUNT: "184.50, or a range: 100..200, >=100, <20",
    CURRENCY: "its code, such as EUR",
    VENDOR: "where it acts",
    RECEIPT: "the vendor's own name for what it did, whole",
    TOOL: "what was called",
    AGENT: "whose run it is of",
    DECIDED_BY: "who said yes or no, or what became of it; none for nobody",
    REASON: "why, in the tool's own word",
    STATE: "how it stands; several with commas",
    UNDO: "no for what was done, yes for what took it back",
    FROM: "recorded on that day or later: 2026, 2026-03, 2026-03-09, today",
    TO: "recorded on that day or earlier, the day included",
    KEY: "its key, or how it begins: a run's id too",
}
#: Kinds of subjects that are always offered, whatever tools there are now.
KINDS = ("customer", "order")

UNDONE = "undone"
#: Whether an effect is an undo of another one.
YES, NO = "yes", "no"
#: For effects that have no such thing: `reason:none`, `decided-by:none`.
NONE = "none"
STATES: dict[str, EffectState] = {slug(state.value): state for state in EffectState}
STATE_WORDS = (*STATES, UNDONE)

_NUMBER = r"([0-9]{1,16}(?:\.[0-9]{1,4})?)"
_AMOUNT = re.compile(rf"{_NUMBER}|(>=|<=|>|<){_NUMBER}|(?:{_NUMBER})?\.\.(?:{_NUMBER})?")
_STAR = "*"


@dataclass(frozen=True, slots=True)
class Amounts:
    """Amounts from `low` to `high`; None is no bound. `above` and `below`: the bound itself is not meant."""

    low: Decimal | None
    high: Decimal | None
    above: bool = False
    below: bool = False

    def minor(self, decimals: int) -> tuple[int, int] | None:
        """The same in minor units of a currency with so many decimals, both ends included; None if there are none."""
        low, high = 0, MAX_MINOR
        if self.low is not None:
            exact = self.low.scaleb(decimals)
            low = int(exact.to_integral_value(ROUND_FLOOR)) + 1 if self.above else _up(exact)
        if self.high is not None:
            exact = self.high.scaleb(decimals)
            high = _up(exact) - 1 if self.below else int(exact.to_integral_value(ROUND_FLOOR))
        return (low, min(high, MAX_MINOR)) if low <= min(high, MAX_MINOR) else None


def _up(exact: Decimal) -> int:
    return int(exact.to_integral_value(ROUND_CEILING))


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a name: its letters, and whether names begin with it, end with it, or both (then it is whole)."""

    text: str
    begins: bool
    ends: bool


@dataclass(frozen=True, slots=True)
class LedgerQuery:
    """What effects are looked for: every part must hold, of several states any. `text` is a name of whatever sort.

    `problems` are sentences about what could not be understood; then nothing is to be found.
    """

    given: tuple[tuple[str, str], ...] = ()
    text: str = ""
    problems: tuple[str, ...] = ()
    states: tuple[str, ...] = ()
    amounts: Amounts | None = None
    start: datetime | None = None
    end: datetime | None = None

    def __getitem__(self, key: str) -> str:
        return dict(self.given).get(key, "")

    @property
    def subjects(self) -> list[tuple[str, Part]]:
        """The kinds (empty for any) and names, or parts of names, that an effect must be about."""
        return [
            ("" if key == SUBJECT else key, part(value)) for key, value in self.given if key not in _OTHERS
        ]

    @property
    def parts(self) -> list[tuple[str, str]]:
        """What the query asks for, as key and value; the text's key is empty."""
        return [*self.given, *([("", self.text)] if self.text else [])]

    @property
    def wider(self) -> str:
        """The query's text with whole names as parts of names; empty where it asks for no whole name."""
        whole = {key for key, value in self.given if key not in _OTHERS and _STAR not in value}
        wider = [(key, f"*{value}*" if key in whole else value) for key, value in self.parts]
        return written(wider) if whole else ""

    def __str__(self) -> str:
        return written(self.parts)

    def without(self, key: str) -> str:
        """The query's text without one of its parts; the free text's key is empty."""
        return written((name, value) for name, value in self.parts if name != key)

    def having(self, **values: str) -> str:
        """The query's text with these parts in the place of its own (`_` in a key is `-`); empty takes one away."""
        put = {name.replace("_", "-"): value for name, value in values.items()}
        kept = [(key, put.pop(key, value)) for key, value in self.given]
        tail = [("", self.text)] if self.text else []
        return written((key, value) for key, value in [*kept, *put.items(), *tail] if value)


_OTHERS = frozenset(KEYS) - {SUBJECT}


def part(value: str) -> Part:
    """How a value with stars is meant: `ann` whole, `ann*` how it begins, `*ann` how it ends, `*ann*` what it holds."""
    bare = value.strip(_STAR)
    return Part(bare, not value.startswith(_STAR), not value.endswith(_STAR))


def parse(text: str, now: datetime, kinds: Sequence[str] = ()) -> LedgerQuery:
    """Read a query, with these kinds of subjects. Never raises: what is wrong with it stands in `problems`."""
    known = dict.fromkeys([*KINDS, *kinds, *KEYS])
    typed = read(text, list(known), "Effects", {STATE: "applied,in-doubt"})
    values, problems = typed.values, typed.problems
    states, unknown = chosen(STATE, values.get(STATE, ""), STATE_WORDS)
    if states:
        values[STATE] = ",".join(states)
    problems += unknown
    if UNDO in values:
        values[UNDO] = values[UNDO].lower()
        if values[UNDO] not in (YES, NO):
            problems.append(f"undo: must be yes or no, not {told(values[UNDO])}.")
    amounts, wrong = _amounts(values.get(AMOUNT, ""))
    problems += wrong
    if CURRENCY in values:
        values[CURRENCY] = values[CURRENCY].upper()
        if values[CURRENCY] not in EXPONENTS:
            problems.append(f"currency: there is no {told(values[CURRENCY])}; give a code such as EUR.")
    start, end, wrong = _times(values.get(FROM, ""), values.get(TO, ""), now)
    problems += wrong
    given = tuple((key, values[key]) for key in known if key in values)
    for key, value in given:
        if key not in _OTHERS and not part(value).text.strip():
            problems.append(f"{key}: needs letters or digits beside the star.")
    return LedgerQuery(given, " ".join(typed.words), tuple(problems), states, amounts, start, end)


def lasting(text: str, now: datetime) -> str:
    """A query with the days that pass by, `today` and `yesterday`, as the days that they are at `now`."""
    return " ".join(_lasting(word, now) for word in split(text) if word.whole)


def _lasting(word: Word, now: datetime) -> str:
    day = days.named(word.value, now) if word.key in (FROM, TO) else None
    return word.whole if day is None else f"{word.key}:{day}"


def _amounts(value: str) -> tuple[Amounts | None, list[str]]:
    found = _AMOUNT.fullmatch(value)
    if not value:
        return None, []
    if found is None or value == "..":
        return None, [
            f"amount: must be like 184.50, 100..200 or >=100, with a point for decimals, not {told(value)}."
        ]
    exact, sign, bound, low, high = found.groups()
    if exact:
        return Amounts(Decimal(exact), Decimal(exact)), []
    if sign:
        limit = Decimal(str(bound))
        if sign.startswith(">"):
            return Amounts(limit, None, above=sign == ">"), []
        return Amounts(None, limit, below=sign == "<"), []
    amounts = Amounts(Decimal(low) if low else None, Decimal(high) if high else None)
    if amounts.low is not None and amounts.high is not None and amounts.low > amounts.high:
        return None, [f"amount: {low} is more than {high}; write the smaller one first."]
    return amounts, []


def _times(start: str, end: str, now: datetime) -> tuple[datetime | None, datetime | None, list[str]]:
    """From the first moment of one to the last of the other, both included."""
    first, last = (days.read(text, now) if text else None for text in (start, end))
    return (
        None if first is None else first.start,
        None if last is None else last.end,
        days.wrong(start, end, now),
    )
