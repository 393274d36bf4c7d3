"""`python -m tests.bench.cell MODULE FUNCTION [WORD...]`: one cell of the table, in a process of its own.

Every repetition of every column is such a process, on a fresh database; it reports figures on its last line.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module

from tests.bench import kit


def main(words: Sequence[str]) -> None:
    """Measure and report. The process ends at once: no library's tidying up is part of a measure."""
    module, function, *rest = words
    if module.startswith("ours."):
        import django  # which no peer has

        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "durable.settings")
        django.setup()
    measured = import_module(f"tests.bench.{module}")
    if module.startswith("ours."):
        from durable.settled import settle

        settle()  # as workers and web processes do once they have loaded what they work with
    found = getattr(measured, function)(*rest)
    if found is not None:
        kit.report(found)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
