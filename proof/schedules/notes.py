"""What the processes of one schedule leave to each other beside the database: a diary that outlives each of them.

A process writes a line before it acts on it, so that whoever reads the diary knows at least what was done. It goes
through a pipe to the driver, and what a killed process has written is there.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Notes:
    """The diary of one schedule, as far as it has got."""

    names: dict[str, str] = field(default_factory=dict)  # what the vendor's book is read by
    yeses: list[str] = field(default_factory=list)  # key and payload of what the reviewer has let out
    thoughts: int = 0  # model calls that were made
    acts: int = 0
    code: int = 0
    met: dict[str, int] = field(default_factory=dict)  # what happened, by kind, for the table
    told: set[str] = field(default_factory=set)  # commands given

    def take(self, line: Mapping[str, Any]) -> None:
        """Add one line."""
        match line["what"]:
            case "names":
                self.names = dict(line["names"])
            case "yes":
                self.yeses.append(str(line["yes"]))
            case "thought":
                self.thoughts += 1
            case "act":
                self.acts += 1
            case "code":
                self.code = int(line["code"])
            case "command":
                self.told.add(str(line["command"]))
            case "met":
                self.met[line["kind"]] = self.met.get(line["kind"], 0) + 1


class Pen:
    """Writes lines into the driver's pipe; each is whole or not there at all."""

    def __init__(self, pipe: int, notes: Notes) -> None:
        self._pipe, self.notes = pipe, notes

    def write(self, what: str, **fields: Any) -> None:
        line = {"what": what, **fields}
        os.write(self._pipe, json.dumps(line).encode() + b"\n")
        self.notes.take(line)
