"""Services for one command or one test session, on a folder that is deleted afterwards."""

from __future__ import annotations

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


@dataclass
class ThrowAway:
    """A running PostgreSQL and broker. `fsync` waits for the disk, as a test of a killed database wants."""

    folder: Path
    postgres: Postgres
    broker: Broker

    @classmethod
    def start(cls, *, fsync: bool = False) -> ThrowAway:
        """Both services, up and answering. Call it from the main thread: they die with it."""
        folder = keys.private_folder(Path(tempfile.mkdtemp(prefix="interlock-")))
        secrets = keys.load(folder)
        found = cls(
            folder, Postgres(folder, secrets, throw_away=not fsync), Broker(folder, secrets, throw_away=True)
        )
        try:
            found.postgres.start()
            found.broker.start()
        except BaseException:
            found.stop()
            raise
        return found

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
    root = Path(__file__).resolve().parent.parent
    with bytecode.shared():
        found = ThrowAway.start()
        before = dict(os.environ)
        os.environ.update(found.settings())
        try:
            subprocess.run([sys.executable, "manage.py", "migrate", "--verbosity", "0"], cwd=root, check=True)
            yield
        finally:
            os.environ.clear()
            os.environ.update(before)
            found.stop()
