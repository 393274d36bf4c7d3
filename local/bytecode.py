"""Compiled modules, kept while one command runs, where the environment has Python keep none beside the sources.

Such a command starts dozens of processes on the same modules. Compiling Django, Celery and the product takes each of
them longer than all that it does afterwards.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

#: What Python itself reads: the first wins over the second, and is off when empty.
_NONE, _FOLDER = "PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX"


@contextmanager
def shared() -> Iterator[None]:
    """For a block, this process and all that it starts share what they compile, in a folder that goes with the block.

    Changes nothing where Python keeps compiled modules anyway, as it does by default.
    """
    if not sys.dont_write_bytecode:
        yield
        return
    before = sys.pycache_prefix, {name: os.environ.get(name) for name in (_NONE, _FOLDER)}
    with tempfile.TemporaryDirectory(prefix="interlock-compiled-", ignore_cleanup_errors=True) as folder:
        sys.dont_write_bytecode, sys.pycache_prefix = False, folder
        os.environ.update({_NONE: "", _FOLDER: folder})
        try:
            yield
        finally:
            sys.dont_write_bytecode, sys.pycache_prefix = True, before[0]
            for name, word in before[1].items():
                if word is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = word
