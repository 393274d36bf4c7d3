"""Where an error arose: the frames of a traceback, without any value and without the error's words.

What an error says may quote a customer's data; where it was raised is code.
"""

from __future__ import annotations

import re
import sys
import sysconfig
import traceback
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from django.conf import settings

_OURS = Path(__file__).parent
#: Agents that come with the product are written as any author's are.
_AGENTS = _OURS / "agents"
#: Of a recursion without end the last frames say enough.
_MOST_FRAMES = 20
_MOST_CAUSES = 4
_NO_NAME = re.compile(r"[^\w.<>-]")


def last(error: BaseException) -> str:
    """The last frame, whosever it is: for errors of the engine itself."""
    frames = traceback.extract_tb(error.__traceback__)
    return f"{frames[-1].name}, line {frames[-1].lineno}" if frames else ""


def authors(error: BaseException) -> str:
    """The last frame in an author's code, as `desk.py, line 12, in pay`; empty where the error passed through none."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if _by_author(frame.filename):
            return f"{_NO_NAME.sub('_', Path(frame.filename).name)}, line {frame.lineno}, in {frame.name}"
    return ""


def trail(error: BaseException) -> str:
    """All frames in one line, the last one first, then those of what the error came of."""
    return "; from ".join(
        f"{type(one).__name__}: "
        + " < ".join(
            f"{frame.filename}:{frame.lineno} in {frame.name}"
            for frame in reversed(traceback.extract_tb(one.__traceback__)[-_MOST_FRAMES:])
        )
        for one in _causes(error)
    )


def _causes(error: BaseException) -> Iterator[BaseException]:
    one: BaseException | None = error
    for _ in range(_MOST_CAUSES):
        if one is None:
            return
        yield one
        one = one.__cause__ or (None if one.__suppress_context__ else one.__context__)


def _by_author(file: str) -> bool:
    """Whether a file is neither the engine's nor a library's; an agent's module may be installed like a library."""
    if file.startswith("<"):
        return False
    named = (getattr(sys.modules.get(module), "__file__", None) for module in settings.INTERLOCK_AGENTS)
    if file in named:
        return True
    path = Path(file)
    if path.is_relative_to(_OURS):
        return path.is_relative_to(_AGENTS)
    return not any(path.is_relative_to(library) for library in _libraries())


@cache
def _libraries() -> tuple[Path, ...]:
    paths = sysconfig.get_paths()
    return tuple({Path(paths[name]) for name in ("stdlib", "platstdlib", "purelib", "platlib")})
