"""Child processes that never outlive their parent, and the traces by which survivors are found all the same."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import pwd
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import psutil

_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


def die_with_parent(number: int) -> Callable[[], None] | None:
    """What a child runs before its program: on Linux the kernel sends it `number` when its parent dies.

    The parent is the thread that forked, so spawn from the main thread. Elsewhere the traces must do (`leftovers`).
    """
    if _LIBC is None:
        return None
    libc, parent = _LIBC, os.getpid()

    def ask() -> None:
        libc.prctl(_PR_SET_PDEATHSIG, number, 0, 0, 0)
        if os.getppid() != parent:  # it died before we could ask
            os._exit(1)

    return ask


def spawn(
    argv: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    user: str | None = None,
    stdin: int | None = subprocess.DEVNULL,
    output: int | None = None,
    death: int = signal.SIGTERM,
    cwd: Path | None = None,
) -> subprocess.Popen[bytes]:
    """Start a program in a session of its own, so that a Ctrl-C at the terminal reaches only its supervisor.

    `user` steps down to that account (root alone may). `death` is the signal that it gets when this process dies.
    """
    return subprocess.Popen(
        list(argv),
        env=dict(os.environ if env is None else env),
        user=user,
        group=_group(user),
        extra_groups=[] if user else None,
        stdin=stdin,
        stdout=output,
        stderr=subprocess.STDOUT if output is not None else None,
        start_new_session=True,
        preexec_fn=die_with_parent(death),
        cwd=cwd,
    )


def _group(user: str | None) -> int | None:
    return pwd.getpwnam(user).pw_gid if user else None


def stop(child: subprocess.Popen[bytes], number: int = signal.SIGTERM, patience: float = 3.0) -> None:
    """Ask with `number`, wait `patience` seconds, then kill the child's whole process group."""
    if child.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            child.send_signal(number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(patience)
    kill_group(child.pid)
    child.wait()


def kill_group(group: int) -> None:
    """SIGKILL to whatever is left of a child's session, its own children included."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)


def free_port(preferred: int = 0, host: str = "127.0.0.1") -> int:
    """`preferred` or the next free port within twenty; any free one for 0."""
    for port in range(preferred, preferred + 20) if preferred else [0]:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((host, port))
            except OSError:
                continue
            found: int = probe.getsockname()[1]
            return found
    raise RuntimeError(f"no free port from {preferred} to {preferred + 19}: name another with --port")


def leave_trace(folder: Path, name: str, child: subprocess.Popen[bytes], mark: str) -> None:
    """Write down a child, so that the next start finds it if all of this is killed at once.

    `mark` is a piece of its command line that no stranger's has.
    """
    with contextlib.suppress(psutil.Error):  # it has ended already: nothing to find
        trace = {"pid": child.pid, "since": psutil.Process(child.pid).create_time(), "mark": mark}
        (folder / f"{name}.json").write_text(json.dumps(trace))


def leftovers(folder: Path) -> list[psutil.Process]:
    """Processes of an earlier start that still live: same group, not older than their trace, and bearing its mark.

    A number alone proves nothing: the system gives it to strangers again.
    """
    found: list[psutil.Process] = []
    for file in folder.glob("*.json"):
        try:
            trace = json.loads(file.read_text())
        except ValueError:
            continue
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error, ProcessLookupError):
                same = os.getpgid(process.pid) == trace["pid"] and process.create_time() >= trace["since"] - 1
                if same and any(trace["mark"] in word for word in process.cmdline()):
                    found.append(process)
    return found


def clear_leftovers(folder: Path) -> list[str]:
    """Kill the survivors of an earlier start, forget its traces, and say what was found."""
    found = leftovers(folder)
    names = [f"{process.pid} ({process.name()})" for process in found]
    for process in found:
        with contextlib.suppress(psutil.Error):
            process.kill()
    psutil.wait_procs(found, timeout=5)
    for file in folder.glob("*.json"):
        file.unlink()
    return names


def wait_for(
    ready: Callable[[], bool], what: str, *, alive: Callable[[], bool] = lambda: True, seconds: float = 30
) -> None:
    """Poll until `ready`. Raises RuntimeError when `what` died or took longer than `seconds`."""
    end = time.monotonic() + seconds
    while not ready():
        if not alive():
            raise RuntimeError(f"{what} ended while it was starting")
        if time.monotonic() > end:
            raise RuntimeError(f"{what} did not answer within {seconds:g} seconds")
        time.sleep(0.03)
