"""Chaos: the whole product under load while everything around it fails in turn, and its history held against the facts.

`python -m proof.chaos --seconds 60 --seed 1`. A `World` is a web server, three workers, beat, sweeper, broker, database
and vendor, all real processes of its own. The `crowd` is who uses it: runs get started, people answer, steer and settle
through the product's pages, and note down what they were told. The `nemesis` breaks one thing after the other. Then
all is whole again, every run is brought to its end, and the `oracles` read the history: the vendor's book, the mail
folder, what the crowd noted, and the database's rows, without any code of the engine.
"""

from __future__ import annotations

from proof.report import Row, Say


def prove(say: Say, *, seconds: float, seed: int) -> list[Row]:
    """Break everything for `seconds` in an order by `seed`, heal, judge; and show that the check can fail.

    It brings services of its own. Call it from the main thread, with Django set up.
    """
    from proof.chaos.play import prove as proved  # most of the package's modules are entered by themselves

    return proved(say, seconds=seconds, seed=seed)
