"""Every guard that has a switch in the model, and how it is broken in the code."""

from __future__ import annotations

from proof.mutants import effects, people
from proof.mutants.mutant import Mutant

ALL: tuple[Mutant, ...] = (
    *effects.EFFECTS,
    *people.STOPS,
    *people.GATES,
    *effects.WAY_BACK,
    *effects.MONEY,
    *people.FORKS,
)
