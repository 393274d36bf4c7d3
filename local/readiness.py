"""Waiting for the pages of this machine: until they can do their work, or say what no waiting will mend."""

from __future__ import annotations

import http.client
import time
import urllib.error
import urllib.request
from collections.abc import Callable

from local.pipes import say
from local.process import wait_for

#: Seconds until it is given up, until it is said again that it takes long, and between two questions.
_PATIENCE, _SAY_AGAIN, _PAUSE = 300.0, 20.0, 0.3
#: What a person must correct; everything else that `/readyz` may name can come back by itself.
_FOR_GOOD = "INTERLOCK_SEAL_KEY"


def asked(url: str, seconds: float = 5) -> tuple[int, str]:
    """Return status and text of an address; 0 and nothing where its server is slow, breaks off or is not there."""
    try:
        with urllib.request.urlopen(url, timeout=seconds) as answer:
            return answer.status, answer.read().decode(errors="replace").strip()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode(errors="replace").strip()
    except (OSError, http.client.HTTPException):
        return 0, ""


def answers(url: str, seconds: float = 5) -> bool:
    """Whether an address answers 200 now."""
    return asked(url, seconds)[0] == http.client.OK


def wait_for_pages(url: str, *, alive: Callable[[], bool], meanwhile: Callable[[], None]) -> None:
    """Wait until the pages are ready, doing what else is to be done `meanwhile`, and say now and then what they lack.

    Raises RuntimeError where they end, take minutes, or name what no waiting will mend.
    """
    said = begun = time.monotonic()
    next_question = 0.0

    def ready() -> bool:
        nonlocal said, next_question
        meanwhile()
        now = time.monotonic()
        if now < next_question:
            return False
        next_question = now + _PAUSE
        status, text = asked(url)
        if _FOR_GOOD in text:
            raise RuntimeError(text)
        if now - said > _SAY_AGAIN and status != http.client.OK:
            said = now
            lack = f" {text}" if text else ""
            say(f"the pages are still starting, {now - begun:.0f} s by now; Ctrl-C gives up.{lack}")
        return status == http.client.OK

    wait_for(ready, "the web server", alive=alive, seconds=_PATIENCE)
