"""A broker of one's own: Valkey on loopback, behind a password, its messages kept on disk."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import redis

from local import binaries
from local.process import free_port, spawn, stop, wait_for


@dataclass
class Broker:
    """One server. `folder` keeps its messages, `secrets` its password."""

    folder: Path
    secrets: Mapping[str, str]
    throw_away: bool = False
    port: int = 0
    process: subprocess.Popen[bytes] | None = None

    def url(self, number: int = 0) -> str:
        """The address of one of its sixteen databases, password included."""
        return f"redis://:{self.secrets['broker']}@127.0.0.1:{self.port}/{number}"

    def start(self) -> None:
        """Start it and wait for its first answer. The password goes through a pipe: a command line is public."""
        home = self.folder / "broker"
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.port = self.port or free_port()
        keep = "no" if self.throw_away else "yes"
        lines = [
            f"port {self.port}",
            "bind 127.0.0.1",
            f"requirepass {self.secrets['broker']}",
            f'dir "{home}"',
        ]
        lines += [f"appendonly {keep}", "appendfsync everysec", 'save ""', "loglevel warning", "daemonize no"]
        with (home / "log").open("ab") as log:
            child = spawn([str(binaries.broker()), "-"], stdin=subprocess.PIPE, output=log.fileno())
        assert child.stdin is not None
        child.stdin.write("\n".join([*lines, ""]).encode())
        child.stdin.close()
        wait_for(self.answers, "the broker", alive=lambda: child.poll() is None)
        self.process = child

    def answers(self) -> bool:
        """Whether it is up, and it is ours."""
        try:
            with redis.Redis.from_url(self.url(), socket_connect_timeout=2, socket_timeout=2) as client:
                return bool(client.ping())
        except redis.RedisError:
            return False

    def stop(self) -> None:
        """A clean shutdown; does nothing when it does not run."""
        if self.process is not None:
            stop(self.process)
            self.process = None
