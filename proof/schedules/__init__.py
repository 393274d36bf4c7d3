"""Crash schedules: every point at which a process can die, each at six classes of vendor, and thousands at random.

A schedule is played by real processes on real PostgreSQL, with the engine's own runner and the product's own adapters;
they die by SIGKILL. The vendor's own book says whether each act has moved once.
"""

from __future__ import annotations

from proof.report import Row, Say


def prove(
    say: Say, *, schedules: int = 2_000, seed: int = 1, long: bool = False, points: bool = True
) -> list[Row]:
    """Play them; see `proof.schedules.proving.prove`. Django must be set up, the services in the environment."""
    from proof.schedules import proving

    return proving.prove(say, schedules=schedules, seed=seed, long=long, points=points)
