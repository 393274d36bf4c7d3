"""A run's checkpoints in pages, one of them with its state, and what differs between any two."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from approvals import differences
from approvals.errors import Difference
from approvals.queries import erasures, pages, runs, words
from approvals.queries.run import POINT_COLUMNS, point
from durable.errors import NotFound
from durable.models import Checkpoint, Run
from durable.text import quoted

#: More differences than this are counted, not listed.
LISTED = 300


def page(run: Run, *, after: int | None, before: int | None) -> dict[str, Any]:
    """One page of checkpoints, the newest first; versions are the keyset."""
    found = run.checkpoints.values(*POINT_COLUMNS)
    if before is not None:
        rows = list(found.filter(version__gt=before).order_by("version")[: pages.PAGE + 1])
        more, rows = len(rows) > pages.PAGE, rows[: pages.PAGE][::-1]
        newer, older = (str(rows[0]["version"]) if more and rows else ""), True
    else:
        kept = found if after is None else found.filter(version__lt=after)
        rows = list(kept.order_by("-version")[: pages.PAGE + 1])
        older, rows = len(rows) > pages.PAGE, rows[: pages.PAGE]
        newer = str(rows[0]["version"]) if after is not None and rows else ""
    last = str(rows[-1]["version"]) if older and rows else ""
    shown = pages.Page([dict(row) for row in rows], newer, last)
    total = pages.words(pages.count(Checkpoint.objects.filter(run=run)))
    return {"checkpoints": [point(dict(row)) for row in rows], "page": shown.context(0) | {"total": total}}


def one(run: Run, version: int) -> tuple[dict[str, Any], Any]:
    """Return one checkpoint, as pages show it, and its state. Raises NotFound."""
    found = run.checkpoints.filter(version=version).values(*POINT_COLUMNS, "state", "state_version").first()
    if found is None:
        raise NotFound(f"{run.ref} keeps no checkpoint {version}")
    state = found["state"]
    if state is None:  # it equals an older one, and is stored there alone
        state = run.checkpoints.filter(version=found["state_version"]).values_list("state", flat=True).first()
    return point(dict(found)), state


def between(run: Run, first: int, second: int) -> dict[str, Any]:
    """What differs between two checkpoints: the working state by path, and where the run stood. Raises NotFound."""
    (before, old), (after, new) = one(run, first), one(run, second)
    facts = differences.compare(_facts(before), _facts(after))
    heads = {"was": f"Version {first}", "now": f"Version {second}"}
    return {"from": before, "to": after, "facts": facts, **heads, **compared(old, new)}


def compared(old: Any, new: Any) -> dict[str, Any]:
    """What differs between two states, by path, for _diff.html; what is too much is counted in `left`."""
    found = differences.compare(dict(_flat(old, "")), dict(_flat(new, "")))
    rows = [
        {"name": row.name or "all of it", "shown": row.shown, "current": row.current, "how": _how(row)}
        for row in found[:LISTED]
    ]
    return {"rows": rows, "left": len(found) - len(rows)}


def _how(row: Difference) -> str:
    return "added" if row.shown is None else "removed" if row.current is None else "changed"


def _facts(shown: Mapping[str, Any]) -> dict[str, Any]:
    done = ", ".join(
        f"{step} ({visits} times)" if visits > 1 else step for step, visits in shown["progress"].items()
    )
    return {
        "After": shown["after"],
        "Goes on at": shown["next"] or "its end",
        "Steps that have ended": done or "none",
        "Messages": f"{shown['messages']:,}",
        "Tokens used": f"{shown['tokens']:,}",
    }


def _flat(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Every leaf of a state with its path: `order.items[2].sku`. What is empty is a leaf."""
    if isinstance(value, dict) and value:
        for name, item in value.items():
            plain = name.isidentifier()
            step = (
                name
                if plain and not path
                else f".{name}"
                if plain
                else f"[{json.dumps(name, ensure_ascii=False)}]"
            )
            yield from _flat(item, path + step)
    elif isinstance(value, list) and value:
        for place, item in enumerate(value):
            yield from _flat(item, f"{path}[{place}]")
    elif path or value:  # an empty state has nothing that could be gone
        yield path, json.dumps(value, ensure_ascii=False) if isinstance(value, str) else value


def about(run: Run) -> dict[str, Any]:
    """What the head of a run's further pages says: the same as that of the first."""
    return {
        "id": run.ref,
        "agent": run.agent,
        "subject": words.subject(run.input),
        "state": run.state,
        "wait": words.wait_word(runs.open_waits([run.pk])[run.pk]),
        "requester": quoted(run.requester),
        "created_at": run.created_at,
        "attempt": run.attempt,
        "erased": erasures.note(run),
    }
