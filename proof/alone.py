"""One part of the proof by itself: `python -m proof.zombies`, `python -m proof.promptness`."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from dataclasses import replace

from local.throwaway import services
from proof import parts
from proof.parts import Extent
from proof.report import Tally


def alone(name: str, words: Sequence[str], *, option: str, field: str) -> int:
    """Run a part, as many as `option` says (a field of `Extent`), print its table, and return the exit code."""
    parser = argparse.ArgumentParser(prog=f"proof.{name}", description=parts.PARTS[name].shows)
    parser.add_argument(option, dest="count", type=int, default=getattr(Extent(), field))
    options = parser.parse_args(words)
    os.environ.setdefault("LOG_LEVEL", "ERROR")
    with services():
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "durable.settings")
        import django

        django.setup()
        tally = Tally(parts.run(name, replace(Extent(), **{field: options.count}), print))
    print(*tally.table(), sep="\n")
    return 0 if tally.sound() else 1
