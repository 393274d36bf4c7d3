"""`python -m proof.schedules.driver PART OF ORDER...`: one of several drivers side by side.

Loads everything once; each process of its schedules is forked from it. The environment names services and vendor.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any


def main(words: Sequence[str]) -> int:
    """Play this driver's part of each order (see `proof.schedules.work`), and return the exit code."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "durable.settings")
    import django

    django.setup()
    from durable.celery import app
    from local.vendor import Vendor
    from proof.schedules import work
    from proof.schedules.lane import Lane

    celery: Any = app  # its types know no settings that change
    for name in ("broker_url", "broker_write_url", "broker_read_url"):
        setattr(celery.conf, name, "memory://")  # hints go nowhere: the schedule says who acts next
    part, of = int(words[0]), int(words[1])
    lane = Lane(Vendor(os.environ["STRIPE_API_BASE"]), str(os.getpid()))
    for order in words[2:]:
        work.play(lane, part, of, order)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
