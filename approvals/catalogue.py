"""The tools and agents that this process knows: named by settings, declared by their modules."""

from __future__ import annotations

import logging

from durable import plan

log = logging.getLogger(__name__)


def load() -> None:
    """Import the agents' modules, which declare the tools. Cheap once done.

    One that can't be imported does not take the console down: what hangs on its tools is withheld, and not approved.
    """
    try:
        plan.agents()
    except Exception as error:
        log.error("an agent's module cannot be imported: %s: %s", type(error).__name__, error)
