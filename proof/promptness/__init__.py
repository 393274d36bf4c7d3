"""How soon: three promises with a number in them, measured on real workers (`measuring`)."""

from __future__ import annotations

from proof.report import Row, Say


def prove(say: Say, *, samples: int) -> list[Row]:
    """Measure all three, so many times each. The settings must be there, and name services."""
    from proof.promptness import measuring

    return measuring.prove(say, samples=samples)
