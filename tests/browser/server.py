"""The pages' own server, as `manage.py up` starts it: a process that can be killed, and started again on its port."""

from __future__ import annotations

import os
import subprocess
import urllib.error
import urllib.request

from local import parts
from local.process import free_port, kill_group, spawn, wait_for

#: The module whose tools the gates of these tests are about.
_TOOLS = "tests.factories"


class Server:
    """Serves what the test's database holds, from a port that stays the same. Call it from the main thread."""

    def __init__(self) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.starts()

    def starts(self) -> None:
        """Start it, and wait until it answers."""
        env = {
            **os.environ,
            "INTERLOCK_PUBLIC_URL": self.url,
            "STATIC_HASHED": "false",
            "INTERLOCK_AGENTS": _TOOLS,
        }
        argv = parts.web("127.0.0.1", self.port).argv
        self._child = spawn(argv, env=env, output=subprocess.DEVNULL)
        wait_for(self._answers, "the pages", alive=lambda: self._child.poll() is None, seconds=180)

    def is_killed(self) -> None:
        """SIGKILL to all of its processes; connections are refused from here on."""
        kill_group(self._child.pid)
        self._child.wait()

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/healthz", timeout=5) as answer:
                return bool(answer.status == 200)
        except (urllib.error.URLError, OSError):
            return False
