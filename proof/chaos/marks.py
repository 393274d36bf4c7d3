"""Whether a run of chaos counts: one in which little was hit, or nothing had to be put right, has shown little."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from proof.chaos.history import History
from proof.chaos.nemesis import Strike

#: Of the kinds of fault that were asked for, so many in a hundred must have hit somebody in mid-effect.
_ENOUGH = 80


@dataclass(frozen=True)
class Marks:
    """How often what must be seen was seen."""

    looked_up: int
    adopted: int
    attempts_lost: int
    races_lost: int
    late_or_doubt: int
    runs: int

    def words(self) -> str:
        return (
            f"{self.runs} runs; {self.looked_up} look-ups, {self.adopted} receipts adopted, "
            f"{self.attempts_lost} attempts lost, {self.races_lost} decisions lost to another, "
            f"{self.late_or_doubt} late answers or doubts"
        )


def of(history: History) -> Marks:
    """Count the marks in a history."""
    return Marks(
        looked_up=len(history.events_of("looked up", "adopted")),
        adopted=len(history.events_of("adopted")),
        attempts_lost=len(history.events_of("attempt lost")),
        races_lost=sum(one["status"] == 409 for one in history.noted("refused")),
        late_or_doubt=len(history.events_of("late answer", "in doubt")),
        runs=len(history.runs),
    )


def too_little(marks: Marks, strikes: Sequence[Strike], kinds: Sequence[str], *, short: bool) -> list[str]:
    """Say why a run of chaos does not count; nothing where it does.

    A short form need not have seen a lost race, a late answer or a doubt: it is over before people are many.
    """
    wanted = {
        "a look-up": marks.looked_up,
        "an adopted receipt": marks.adopted,
        "a lost attempt": marks.attempts_lost,
    }
    if not short:
        wanted |= {
            "a decision lost to another": marks.races_lost,
            "a late answer or a doubt": marks.late_or_doubt,
        }
    wrong = [f"did not count: it has not seen {what}" for what, times in wanted.items() if not times]
    hits = by_kind(strikes)
    missed = [kind for kind in kinds if not hits.get(kind, (0, 0, 0))[2]]
    if len(missed) * 100 > len(kinds) * (100 - _ENOUGH):
        wrong.append(f"did not count: in mid-effect nobody was hit by {', '.join(missed)}")
    idle = [kind for kind in kinds if kind not in hits]
    if idle:
        wrong.append(f"did not count: it never came to {', '.join(idle)}")
    return wrong


def by_kind(strikes: Sequence[Strike]) -> dict[str, tuple[int, int, int]]:
    """By kind: strikes, runs claimed by those whom they hit, and requests that were out or went wrong."""
    found: dict[str, tuple[int, int, int]] = defaultdict(lambda: (0, 0, 0))
    for strike in strikes:
        times, claimed, sent = found[strike.kind]
        found[strike.kind] = times + 1, claimed + strike.claimed, sent + strike.sent
    return dict(found)


def words(strikes: Sequence[Strike]) -> str:
    """What the nemesis did, in one line: `worker killed (F1) 2x: 5 claimed, 3 sent; ...`."""
    return "; ".join(
        f"{kind} {times}x: {claimed} claimed, {sent} sent"
        for kind, (times, claimed, sent) in sorted(by_kind(strikes).items())
    )
