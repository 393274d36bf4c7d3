"""A schedule on its way: what its processes have done so far, as the lane that forks them knows it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from proof.schedules.notes import Notes
from proof.schedules.plan import Schedule


@dataclass
class Course:
    """`deaths` names the point of each death, `traces` the points that each process has passed."""

    schedule: Schedule
    order: str
    notes: Notes = field(default_factory=Notes)
    deaths: list[str] = field(default_factory=list)
    traces: list[list[str]] = field(default_factory=lambda: [[]])
    violations: list[str] = field(default_factory=list)
    state: str = ""
    over: bool = False

    @property
    def dies_at(self) -> int:
        """Which point, counted from 1, is the present process's end; 0 for one that lives."""
        done = len(self.deaths)
        return self.schedule.deaths[done] if done < len(self.schedule.deaths) else 0

    def hear(self, line: dict[str, Any]) -> None:
        """Take one line of the present process."""
        match line["what"]:
            case "point":
                self.traces[-1].append(line["name"])
            case "over":
                self.violations += line["violations"]
                self.state, self.over = line["state"], True
            case _:
                self.notes.take(line)

    def died(self) -> None:
        """The present process is dead, at the last point that it has passed."""
        self.deaths.append(self.traces[-1][-1])
        self.traces.append([])

    def fail(self, sentence: str) -> None:
        """It ends here, for no reason that a schedule may have."""
        self.violations.append(sentence)
        self.over = True
