"""The log of acts as one list, newest first: on runs, effects and gates, on people and rights, on the installation.

A page is found in two steps: the numbers of its acts, each branch of the search by an index of its own, then the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db.models import Q, QuerySet

from approvals import opened
from approvals.log_query import MACHINES, PEOPLE, LogQuery
from approvals.queries import act_objects, act_words, actors, bodies, events, pages
from durable import vault
from durable.errors import InterlockError
from durable.models import ACTS, BY_MACHINE, LedgerEvent, SealKey
from durable.states import ActKind

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TICK = timedelta(microseconds=1)
_REFUSED = frozenset({"refused decision", ActKind.REFUSED, ActKind.MORE_REFUSED, ActKind.SIGN_IN_REFUSED})
#: What is sealed with these are no words of anybody, but where it came from.
_SIGNS = frozenset({ActKind.SIGNED_IN, ActKind.SIGNED_OUT, ActKind.SIGN_IN_REFUSED})

Found = QuerySet[LedgerEvent]
Places = QuerySet[LedgerEvent, tuple[datetime, int]]
#: The sealing keys of runs, by the run's id; of one that does not open, why.
Keys = dict[str, bytes | vault.Tampered]


@dataclass(frozen=True, slots=True)
class Place:
    """A place in the list: after (older than) or before (newer than) the act of this moment and number."""

    at: datetime
    id: int

    def __str__(self) -> str:
        return f"{(self.at - _EPOCH) // _TICK}.{self.id}"


def place(text: str | None) -> Place | None:
    """A cursor from an address; None for nothing and for nonsense, which shows the first page."""
    moment, _, number = (text or "").partition(".")
    micro, pk = pages.cursor(moment), pages.cursor(number)
    if micro is None or pk is None:
        return None
    try:
        return Place(_EPOCH + micro * _TICK, pk)
    except OverflowError:
        return None


def listing(query: LogQuery, *, after: Place | None, before: Place | None) -> dict[str, Any]:
    """One page of acts. See act_list.html."""
    found = [] if query.problems else branches(query)
    ids, page = _page(found, after, before)
    count = sum(pages.counts(found)) if found else 0
    return {"acts": rows(ids), "page": page.context(min(count, pages.COUNTED + 1))}


def newer(query: LogQuery, than: Place) -> int:
    """How many acts have come since a page was shown; COUNTED + 1 stands for more."""
    later = [branch.filter(Q(at__gt=than.at) | Q(at=than.at, id__gt=than.id)) for branch in branches(query)]
    return min(sum(pages.counts(later)), pages.COUNTED + 1)


def branches(query: LogQuery) -> list[Found]:
    """Disjoint parts of what is found, each of which an index has in the list's order."""
    found = LedgerEvent.objects.filter(ACTS)
    if query.begins is not None:
        found = found.filter(at__gte=query.begins)
    if query.ends is not None:
        found = found.filter(at__lt=query.ends)
    if query.actor:
        found = found.filter(actor=actors.stored(query.actor))
    kinds, machines = query.stored_kinds, {PEOPLE: ~BY_MACHINE, MACHINES: BY_MACHINE}
    if query.about:
        found = found if kinds is None else found.filter(kind__in=kinds)
        found = found.filter(machines.get(query.only, Q()))
        return act_objects.about(found, query.about)
    if kinds is not None:
        narrowed = found.filter(machines.get(query.only, Q()))
        return [narrowed.filter(kind=kind) for kind in kinds]
    if query.only in machines:
        return [found.filter(machines[query.only])]
    return [found] if query.actor else [found.filter(~BY_MACHINE), found.filter(BY_MACHINE)]


def _page(found: Sequence[Found], after: Place | None, before: Place | None) -> tuple[list[int], pages.Page]:
    """The numbers of the acts of one page, newest first, and its neighbours."""
    if before is not None:
        upwards = _merged(_above(found, before), "")
        shown, newer, older = upwards[: pages.PAGE][::-1], len(upwards) > pages.PAGE, True
    else:
        downwards = _merged(below(found, after), "-")
        shown, newer, older = downwards[: pages.PAGE], after is not None, len(downwards) > pages.PAGE
    if not shown:
        return [], pages.Page([], "", "")
    first, last = Place(*shown[0]), Place(*shown[-1])
    page = pages.Page(
        [{"id": pk} for _, pk in shown], str(first) if newer else "", str(last) if older else ""
    )
    return [pk for _, pk in shown], page


def below(found: Sequence[Found], place: Place | None) -> list[Places]:
    """What comes behind a place in the list, from its beginning without one: of each branch what a page can show."""
    if place is not None:
        # The first says less than the second, but in a way that an index knows.
        here = Q(at__lt=place.at) | Q(at=place.at, id__lt=place.id)
        found = [one.filter(at__lte=place.at).filter(here) for one in found]
    return [_keys_of(one, "-") for one in found]


def _above(found: Sequence[Found], place: Place) -> list[Places]:
    here = Q(at__gt=place.at) | Q(at=place.at, id__gt=place.id)
    return [_keys_of(one.filter(at__gte=place.at).filter(here), "") for one in found]


def _keys_of(found: Found, sign: str) -> Places:
    """Moments and numbers of one more than a page."""
    return found.order_by(f"{sign}at", f"{sign}id").values_list("at", "id")[: pages.PAGE + 1]


def _merged(parts: Sequence[Places], sign: str) -> list[tuple[datetime, int]]:
    if len(parts) < 2:
        return [key for part in parts for key in part]
    whole = parts[0].union(*parts[1:], all=True).order_by(f"{sign}at", f"{sign}id")
    return list(whole[: pages.PAGE + 1])


def rows(ids: Sequence[int]) -> list[dict[str, Any]]:
    """Acts as rows of act_list.html, in the order of their numbers here."""
    loaded = LedgerEvent.objects.select_related("detail__sealed", "act_words__key").in_bulk(list(ids))
    found = [loaded[pk] for pk in ids]
    who = actors.names(events.told_of(found))
    objects = act_objects.named(found)
    keys = _keys(found)
    return [_row(row, who[row.actor], objects[row.pk], keys, who) for row in found]


def _row(
    row: LedgerEvent,
    actor: str,
    objects: Sequence[act_objects.Object],
    keys: Keys,
    who: dict[str, str],
) -> dict[str, Any]:
    said = _said(row, keys)
    signs = row.kind in _SIGNS
    return {
        "id": row.pk,
        "at": row.at,
        "kind": row.kind,
        "who": actor,
        "actor": row.actor,
        "text": events.text(row, who),
        # Of what somebody did as themselves the name stands there already.
        "objects": [one for one in objects if one.label != row.actor],
        "details": [*_details(row), *([said] if signs and said else [])],
        "changes": act_words.changes(bodies.said(row.body)),
        "said": "" if signs else said,
        "refused": row.kind in _REFUSED,
    }


def _details(row: LedgerEvent) -> list[str]:
    """What else an act's facts say of it; that they were changed, where they are not as the product writes them."""
    body = bodies.of(row.body)
    if body is None:
        return [opened.TAMPERED]
    try:
        return act_words.details(row.kind, row.actor, body)
    except (KeyError, TypeError, ValueError):
        return [opened.TAMPERED]


def _keys(found: Sequence[LedgerEvent]) -> Keys:
    """The sealing keys of the runs that these events are about, as far as they still have any."""
    refs = {row.run_ref for row in found if hasattr(row, "detail")}
    if not refs:
        return {}
    kept = SealKey.objects.filter(run__ref__in=refs, wrapped__isnull=False).values_list("run__ref", "wrapped")
    return {ref: _unwrapped(bytes(wrapped or b""), ref) for ref, wrapped in kept}


def _unwrapped(wrapped: bytes, ref: str) -> bytes | vault.Tampered:
    try:
        return vault.unwrap(wrapped, ref)
    except vault.Tampered as error:
        return error


def _said(row: LedgerEvent, keys: Keys) -> str:
    """The words of an act, or why nobody can read them."""
    if hasattr(row, "act_words"):
        try:
            return vault.read_act(row.act_words)
        except InterlockError as error:
            return opened.instead(error, opened.ERASED)
    return events.words(row, keys.get(row.run_ref)) if hasattr(row, "detail") else ""
