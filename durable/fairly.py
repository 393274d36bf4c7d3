"""Working through what is due, so that nothing stands before the rest for ever.

What is due is taken in pages, until nothing is left or the time is over. An item that fails steps aside, for longer
each time; it is found again later, and until then hides nothing behind it. This memory is the process's own: a sweeper
that starts anew tries everything once more.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from django.db import connection
from django.db.models import Model, QuerySet

from durable import clock
from durable.errors import Conflict, NotFound
from durable.reconcile import pause

log = logging.getLogger(__name__)
Item = TypeVar("Item", bound=Model)

#: Items that one page holds.
PAGE = 200
#: Seconds after which work on one kind of item stops for this time; the next sweep goes on.
TIME = 10.0
#: Failures after which the first pause of an item is a second, doubling to five minutes.
_FIRST = 1
#: Seconds after its pause in which an item's earlier failures still count.
_REMEMBERED = 600.0


@dataclass(slots=True)
class _Failure:
    times: int
    until: float


_failed: dict[tuple[str, int], _Failure] = {}


def there(found: Sequence[QuerySet[Any]]) -> list[bool]:
    """Of which of these queries there is anything; one statement for all, since mostly there is nothing."""
    asked = [items.order_by().values("pk").query.sql_with_params() for items in found]
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT {', '.join(f'EXISTS ({sql})' for sql, _ in asked)}",
            [value for _, values in asked for value in values],
        )
        return list(cursor.fetchone())


def each(
    kind: str,
    items: QuerySet[Item],
    act: Callable[[Item], object],
    *,
    page: int | None = None,
    seconds: float | None = None,
) -> int:
    """Let `act` deal with the `items` (an ordered query of what is due now). Returns how many it was given.

    `kind` tells the failures of one sort of work from those of another. No item's failure stops the rest; only a
    database that is away does: then its error is raised.
    """
    page, end = page or PAGE, clock.elapsed() + (TIME if seconds is None else seconds)
    aside = _aside(kind)
    count = 0
    while clock.elapsed() < end:
        found = list(items.exclude(pk__in=aside)[:page])
        for item in found:
            if clock.elapsed() >= end:
                return count
            _one(kind, item, act)
            aside.append(item.pk)
            count += 1
        if len(found) < page:
            break
    return count


def _one(kind: str, item: Item, act: Callable[[Item], object]) -> None:
    try:
        act(item)
    except (Conflict, NotFound) as gone:
        log.info("sweep: %s", gone)
        _step_aside(kind, item)
    except Exception as error:
        log.error("sweep: %s failed: %s", item, type(error).__name__)
        connection.close_if_unusable_or_obsolete()
        connection.ensure_connection()
        _step_aside(kind, item)
    else:
        _failed.pop((kind, item.pk), None)


def _step_aside(kind: str, item: Model) -> None:
    before = _failed.get((kind, item.pk))
    times = before.times + 1 if before else 1
    _failed[kind, item.pk] = _Failure(times, clock.elapsed() + pause(_FIRST + times).total_seconds())


def _aside(kind: str) -> list[int]:
    """The items of this kind whose pause is not over; what failed long ago is forgotten."""
    now = clock.elapsed()
    for name in [name for name, failure in _failed.items() if failure.until + _REMEMBERED < now]:
        del _failed[name]
    return [pk for (of, pk), failure in _failed.items() if of == kind and failure.until > now]
