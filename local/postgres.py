"""A PostgreSQL of one's own in a folder: made once, started, healed after a kill, stopped. For one machine only."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

import psutil
import psycopg
from psycopg import sql

from local import binaries
from local.keys import APPLICATION, OWNER, SUPERUSER, write_private
from local.process import free_port, spawn, stop, wait_for

DATABASE = "interlock"
#: Rows and statements stay out of the server's log: they are payloads.
_QUIET = {"log_min_error_statement": "panic", "log_error_verbosity": "terse", "log_timezone": "UTC"}
_THROW_AWAY = {"fsync": "off", "full_page_writes": "off", "autovacuum": "off", "max_wal_size": "2GB"}
#: The roles' passwords are made here and are long: to sign in with one need not be slow, which Postgres 16 can be told.
_QUICK_TO_ENTER = {"scram_iterations": "1"}


@dataclass
class Postgres:
    """One cluster. `folder` is where it may live, `secrets` holds the passwords of its three roles."""

    folder: Path
    secrets: Mapping[str, str]
    throw_away: bool = False
    port: int = 0
    process: subprocess.Popen[bytes] | None = None
    home: Path = field(init=False)
    user: str | None = field(init=False)

    def __post_init__(self) -> None:
        self.user = account()
        self.home = self.folder / "postgres"
        if self.user and not binaries.reachable(self.folder, self.user):
            # A checkout under a private home: the server's own account cannot enter it, and we change no folder above.
            self.home = Path("/var/lib") / f"interlock-{sha256(str(self.folder).encode()).hexdigest()[:12]}"
        self.data = self.home / "data"

    def url(self, role: str = APPLICATION, name: str = DATABASE) -> str:
        """The address for one of the three roles, password included."""
        return f"postgresql://{role}:{self.secrets[role]}@127.0.0.1:{self.port}/{name}"

    def start(self, pattern: Path | None = None) -> None:
        """Make the cluster if there is none, start it, and have the roles and the database in place.

        Where there is a `pattern`, the data folder of one that was stopped, it is made as a copy of that. The password
        of the superuser must be the same.
        """
        self.home.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._own(self.home)
        programs = binaries.within_reach(binaries.postgres(), self.user, self.home)
        if pattern is not None and pattern.exists():
            subprocess.run(["cp", "-a", pattern, self.data], check=True)
        self._make(programs)
        clear_stale(self.data)
        for last in (False, False, True):
            try:
                self._run(programs)
                break
            except RuntimeError as error:
                if last:
                    raise RuntimeError(f"{error}; its log is {self.home / 'log'}") from None
                # Backends of a killed server hold its shared memory for a moment longer.
                time.sleep(1)
                clear_stale(self.data)
        with psycopg.connect(self.url(SUPERUSER, "postgres"), autocommit=True) as connection:
            roles(connection, self.secrets)
            create_database(connection, DATABASE)

    def stop(self) -> None:
        """A fast, clean shutdown; does nothing when it does not run."""
        if self.process is not None:
            stop(self.process, signal.SIGINT, patience=10)
            self.process = None

    def kill(self) -> None:
        """SIGKILL to the server and every backend, which lead sessions of their own: as after a pulled plug."""
        assert self.process is not None
        psutil.wait_procs(kill_all(self.process.pid), timeout=5)
        self.process.wait()
        self.process = None

    def back_up(self, folder: Path) -> None:
        """Stop it, copy its data to `folder`, owners kept, and start it again."""
        self.stop()
        subprocess.run(["cp", "-a", self.data, folder], check=True)
        self.start()

    def restore(self, folder: Path) -> None:
        """Kill it, put the data of a backup in place of its own, and start that."""
        self.kill()
        shutil.rmtree(self.data)
        subprocess.run(["cp", "-a", folder, self.data], check=True)
        self.start()

    def remove(self) -> None:
        """Stop it and delete its data for good."""
        self.stop()
        shutil.rmtree(self.home, ignore_errors=True)

    def _make(self, programs: Path) -> None:
        major = binaries.postgres_major(programs)
        mark = self.data / "PG_VERSION"
        if mark.exists():
            if (there := mark.read_text().strip()) != str(major):
                raise RuntimeError(
                    f"{self.data} was made by PostgreSQL {there}, the programs here are {major}: "
                    "dump and restore it, set PGBIN to the older programs, or move the folder away"
                )
            return
        shutil.rmtree(self.data, ignore_errors=True)  # an initdb that was killed half-way
        password = self.home / "password"
        write_private(password, self.secrets[SUPERUSER])
        self._own(password)
        locale = ["--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C"]
        argv = [
            programs / "initdb",
            "-D",
            self.data,
            "-U",
            SUPERUSER,
            "--pwfile",
            password,
            "--encoding=UTF8",
        ]
        argv += ["--auth=scram-sha-256", *(locale if major >= 17 else ["--locale=C.UTF-8"])]
        argv += ["--no-sync"] if self.throw_away else []
        child = spawn(
            [str(word) for word in argv], env=_env(), user=self.user, output=subprocess.PIPE, cwd=self.home
        )
        text, _ = child.communicate(timeout=120)
        password.unlink()
        if child.returncode:
            raise RuntimeError(f"initdb failed: {text.decode(errors='replace').strip()}")

    def _run(self, programs: Path) -> None:
        self.port = self.port or free_port()  # a restart stays where everybody looks for it
        options = {
            "port": str(self.port),
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": "",
            **_QUIET,
        }
        options |= _THROW_AWAY if self.throw_away else {}
        if self.throw_away and int((self.data / "PG_VERSION").read_text()) >= 16:
            options |= _QUICK_TO_ENTER
        argv = [str(programs / "postgres"), "-D", str(self.data)]
        for name, value in options.items():
            argv += ["-c", f"{name}={value}"]
        with (self.home / "log").open("ab") as log:
            child = spawn(
                argv, env=_env(), user=self.user, output=log.fileno(), death=signal.SIGINT, cwd=self.home
            )
        # Long: after a kill it first replays its log.
        wait_for(self._answers, "PostgreSQL", alive=lambda: child.poll() is None, seconds=120)
        self.process = child

    def _answers(self) -> bool:
        try:
            psycopg.connect(self.url(SUPERUSER, "postgres"), connect_timeout=2).close()
        except psycopg.OperationalError:
            return False
        return True

    def _own(self, path: Path) -> None:
        if self.user:
            shutil.chown(path, self.user, pwd.getpwnam(self.user).pw_gid)


def kill_all(server: int) -> list[psutil.Process]:
    """Send SIGKILL to a server and its backends, from any process that may. Returns them; they may not be gone yet."""
    with contextlib.suppress(psutil.NoSuchProcess):
        family = [psutil.Process(server), *psutil.Process(server).children(recursive=True)]
        for one in family:
            with contextlib.suppress(psutil.NoSuchProcess):
                one.kill()
        return family
    return []


def account() -> str | None:
    """Whom root becomes for the server, which refuses to be root; nobody else has a choice."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            pwd.getpwnam(name)
            return name
    raise RuntimeError(
        "PostgreSQL refuses to run as root, and there is no account `postgres` or `nobody` to become"
    )


def clear_stale(data: Path) -> None:
    """Make way for a start: end a server of ours that outlived its parent, drop the lock of one that did not.

    The caller holds the data folder's lock, so nobody uses that server. A number that now belongs to a stranger is
    left alone, and a dead one that nobody has reaped yet counts as gone.
    """
    lock = data / "postmaster.pid"
    try:
        number = int(lock.read_text().split("\n", 1)[0])
        process = psutil.Process(number)
        ours = str(data) in process.cmdline() and process.status() != psutil.STATUS_ZOMBIE
    except (FileNotFoundError, ValueError, psutil.Error):
        ours = False
    if ours:
        process.send_signal(signal.SIGINT)
        with contextlib.suppress(psutil.TimeoutExpired):
            process.wait(10)
        if process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
            raise RuntimeError(
                f"a PostgreSQL ({process.pid}) still runs on {data} and does not stop: end it by hand"
            )
    lock.unlink(missing_ok=True)


def roles(connection: psycopg.Connection, secrets: Mapping[str, str]) -> None:
    """The owner and the application: neither is a superuser, neither may make databases or roles."""
    for role in (OWNER, APPLICATION):
        there = connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [role]).fetchone()
        verb = sql.SQL("ALTER" if there else "CREATE")
        rights = sql.SQL("LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOBYPASSRLS PASSWORD")
        connection.execute(
            sql.SQL("{} ROLE {} {} {}").format(verb, sql.Identifier(role), rights, sql.Literal(secrets[role]))
        )


def create_database(connection: psycopg.Connection, name: str, template: str = "template0") -> None:
    """A database that belongs to the owner and that the application may enter. Does nothing if it is there."""
    if connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [name]).fetchone():
        return
    words = {
        "name": sql.Identifier(name),
        "owner": sql.Identifier(OWNER),
        "template": sql.Identifier(template),
    }
    connection.execute(sql.SQL("CREATE DATABASE {name} OWNER {owner} TEMPLATE {template}").format(**words))
    connection.execute(sql.SQL("REVOKE ALL ON DATABASE {name} FROM PUBLIC").format(**words))
    grant = sql.SQL("GRANT CONNECT, TEMPORARY ON DATABASE {name} TO {application}")
    connection.execute(grant.format(**words, application=sql.Identifier(APPLICATION)))


def _env() -> dict[str, str]:
    """The surroundings without PostgreSQL's own variables, which would change what we ask for."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PG")} | {
        "LC_ALL": "C.UTF-8"
    }
