"""What was made, in lines for the terminal."""

from __future__ import annotations

from collections.abc import Iterator

from local.demodata.load import Made

_MEGA = 1_000_000


def lines(made: Made) -> Iterator[str]:
    """Rows and sizes table by table, the largest first; what they come to; how long it took; how to sign in."""
    yield f"{'table':24}{'rows':>14}{'MB':>10}{'indexes':>10}{'bytes a row':>13}"
    for name, (rows, heap, indexes) in sorted(made.tables.items(), key=lambda item: -sum(item[1][1:])):
        each = (heap + indexes) / max(rows, 1)
        yield f"{name:24}{rows:14,}{heap / _MEGA:10,.1f}{indexes / _MEGA:10,.1f}{each:13,.0f}"
    rows, heap, indexes = (sum(column) for column in zip(*made.tables.values(), strict=True))
    yield f"{'together':24}{rows:14,}{heap / _MEGA:10,.1f}{indexes / _MEGA:10,.1f}"
    parts = ", ".join(f"{name} {length:,.1f}" for name, length in made.seconds.items())
    runs, effects = made.tables["durable_run"][0], made.tables["durable_effect"][0]
    yield f"{made.took:,.1f} seconds ({parts}): {runs / made.took:,.0f} runs and {rows / made.took:,.0f} rows a second"
    yield f"{(heap + indexes) / max(effects, 1):,.0f} bytes for each of {effects:,} effects, all tables counted"
    yield from made.people
