"""`python -m proof.chaos.crowd FOLDER SEED`: who uses the product while it breaks. Notes go to FOLDER/notes.

SIGUSR1: nobody new comes; what is under way is brought to its end. SIGTERM: all go home.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import threading
from collections.abc import Sequence
from pathlib import Path


def command(folder: Path, seed: int, pace: float) -> tuple[str, ...]:
    """Return the words that start a crowd; a customer comes every `pace` seconds."""
    return (sys.executable, "-m", "proof.chaos.crowd", str(folder), str(seed), str(pace))


def main(words: Sequence[str]) -> int:
    """Set Django up, let everybody work in a thread of their own, and wait for the end."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "durable.settings")
    import django

    django.setup()
    from django.conf import settings

    from approvals.people import demo_people
    from local.vendor import Vendor
    from proof.chaos.notes import Notes
    from proof.chaos.operator import Operator
    from proof.chaos.people import Reviewer
    from proof.chaos.starter import Starter

    folder, seed = Path(words[0]), int(words[1])
    healing, over = threading.Event(), threading.Event()
    signal.signal(signal.SIGUSR1, lambda *_: healing.set())

    def go_home(_signal: int, _frame: object) -> None:
        healing.set()
        over.set()

    signal.signal(signal.SIGTERM, go_home)
    demo_people()
    notes, vendor = Notes(folder / "notes"), Vendor(settings.SHOP_API_BASE)
    chances = [random.Random(f"{seed} {n}") for n in range(4)]
    starter = Starter(vendor, notes, chances[0], float(words[2]))
    address = settings.PUBLIC_URL
    reviewers = [Reviewer(name, address, notes, chances[n]) for n, name in enumerate(("marta", "jonas"), 1)]
    operator = Operator("sven", address, notes, chances[3], starter, vendor, Path(settings.EMAIL_FILE_PATH))
    everybody = [threading.Thread(target=starter.work, args=(healing,))]
    everybody += [threading.Thread(target=one.work, args=(over,)) for one in (*reviewers, operator)]
    for one in everybody:
        one.start()
    healing.wait()
    everybody[0].join()
    while not over.wait(0.5) and not starter.make_sure():
        pass
    operator.only_settle = True
    for one in everybody:
        one.join()
    notes.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
