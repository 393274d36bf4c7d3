"""Services for one command or one test session, on a folder that is deleted afterwards."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from local import bytecode, keys
from local.broker import Broker
from local.postgres import DATABASE, Postgres

ROOT = Path(__file__).resolve().parent.parent
#: In the environment: the folder of what one process makes and others copy; see `copying`.
PATTERN = "INTERLOCK_PATTERN"


@dataclass
class ThrowAway:
    """A running PostgreSQL and broker. `fsync` waits for the disk, as a test of a killed database wants."""

    folder: Path
    postgres: Postgres
    broker: Broker

    @classmethod
    def start(cls, *, fsync: bool = False) -> ThrowAway:
        """Both services, up and answering, the database empty. Call it from the main thread: they die with it."""
        return cls._started(fsync, None)

    @classmethod
    def migrated(cls, *, fsync: bool = False) -> ThrowAway:
        """The same with the tables made: here, or by the first of all within `copying`, for the others to copy."""
        folder = os.environ.get(PATTERN)
        if folder:
            return cls._started(fsync, cls._pattern(Path(folder)))
        found = cls.start(fsync=fsync)
        try:
            found._migrate()
        except BaseException:
            found.stop()
            raise
        return found

    @classmethod
    def _started(cls, fsync: bool, pattern: Path | None) -> ThrowAway:
        folder = keys.private_folder(Path(tempfile.mkdtemp(prefix="interlock-")))
        if pattern is not None:
            shutil.copy(pattern / keys.FILE, folder)  # its passwords stand in the database
        secrets = keys.load(folder)
        found = cls(
            folder, Postgres(folder, secrets, throw_away=not fsync), Broker(folder, secrets, throw_away=True)
        )
        try:
            found.postgres.start(pattern and pattern / "data")
            found.broker.start()
        except BaseException:
            found.stop()
            raise
        return found

    @classmethod
    def _pattern(cls, folder: Path) -> Path:
        """The folder with the data of a database that has its tables. Whoever comes first makes it, and others wait."""
        data = folder / "data"
        with (folder / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not data.exists():
                made = cls._started(False, folder)
                try:
                    made._migrate()
                    made.postgres.stop()
                    subprocess.run(["cp", "-a", made.postgres.data, folder / "copy"], check=True)
                    (folder / "copy").rename(data)
                finally:
                    made.stop()
        return folder

    def _migrate(self) -> None:
        words = [sys.executable, "manage.py", "migrate", "--verbosity", "0"]
        subprocess.run(words, cwd=ROOT, env={**os.environ, **self.settings()}, check=True)

    def settings(self, *, database: str = DATABASE, number: int = 0) -> dict[str, str]:
        """What the environment must say for a process that uses them: `number` is the broker's database, 0 to 15."""
        return {
            "INTERLOCK_DATA": str(self.folder),
            "DATABASE_URL": self.postgres.url(keys.APPLICATION, database),
            "DATABASE_OWNER_URL": self.postgres.url(keys.OWNER, database),
            "CELERY_BROKER_URL": self.broker.url(number),
        } | {name: self.postgres.secrets[name] for name in keys.GIVEN}

    def stop(self) -> None:
        """Stop both and delete everything."""
        self.broker.stop()
        self.postgres.remove()
        shutil.rmtree(self.folder, ignore_errors=True)


@contextmanager
def services() -> Iterator[None]:
    """For a command that brings its own services: they stand in the environment, migrated, for as long as it runs.

    A database that the environment names already is used as it is. Enter before the settings are read.
    """
    if os.environ.get("DATABASE_URL"):
        yield
        return
    with bytecode.shared():
        found = ThrowAway.migrated()
        before = dict(os.environ)
        os.environ.update(found.settings())
        try:
            yield
        finally:
            os.environ.clear()
            os.environ.update(before)
            found.stop()


@contextmanager
def copying() -> Iterator[None]:
    """For a block, whatever this process and its children start as `migrated` has its tables made once, and copied."""
    with tempfile.TemporaryDirectory(prefix="interlock-pattern-") as folder:
        keys.load(Path(folder))
        os.environ[PATTERN] = folder
        try:
            yield
        finally:
            del os.environ[PATTERN]
