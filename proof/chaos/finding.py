"""What an oracle gives back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from proof.chaos.history import History


@dataclass
class Finding:
    """How many things an oracle looked at, and what is wrong with them."""

    tried: int = 0
    wrong: list[str] = field(default_factory=list)

    def check(self, good: bool, sentence: str) -> None:
        self.tried += 1
        if not good:
            self.wrong.append(sentence)


Oracle = Callable[[History], Finding]
