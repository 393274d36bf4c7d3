"""`python -m local.inside people | no-demo | stream | check`: the demo and the check, each in a process of its own.

`local.demo.people()` makes the demo people and returns lines that say how to sign in, as `no_demo()` does without the
demo; `local.demo.stream()` starts runs for as long as it lives; `local.check.run()` is the exit code of `up --check`.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module

PLACES = {
    "people": ("local.demo", "people"),
    "no-demo": ("local.demo", "no_demo"),
    "stream": ("local.demo", "stream"),
    "check": ("local.check", "run"),
}


def main(what: str) -> int:
    """Set Django up, call the function, print lines that it returns. Its whole numbers are exit codes."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "durable.settings")
    import django

    django.setup()
    module, name = PLACES[what]
    answer = getattr(import_module(module), name)()
    if isinstance(answer, int):
        return answer
    for line in answer or ():
        print(line, flush=True)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1]))
    except KeyboardInterrupt:
        sys.exit(0)
