"""The secrets of one data folder: made once, at random, readable by its owner alone."""

from __future__ import annotations

import base64
import json
import os
import secrets
from pathlib import Path

#: Role of PostgreSQL's superuser; owner of the tables, for migrations; role of the product's own processes.
SUPERUSER, OWNER, APPLICATION = "interlock_admin", "interlock_owner", "interlock_app"
#: The keys of 32 bytes: what seals, what hashes, what signs.
KEYS = ("INTERLOCK_SEAL_KEY", "INTERLOCK_HASH_KEY", "INTERLOCK_SIGN_KEY")
FILE = "secrets.json"
#: What the product's own processes are given of the secrets.
GIVEN = ("DJANGO_SECRET_KEY", *KEYS)


def private_folder(folder: Path) -> Path:
    """The folder, made if need be. Others may pass through to what they can name, but not list it.

    PostgreSQL refuses to run as root: its own account must get through to its data.
    """
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o711)
    return folder


def write_private(file: Path, text: str) -> None:
    """Replace the file in one step; nobody else can read it at any moment."""
    fresh = file.with_name(f"{file.name}.new")
    fresh.unlink(missing_ok=True)
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as out:
        out.write(text)
    fresh.replace(file)


def load(folder: Path) -> dict[str, str]:
    """The folder's secrets by name, made on the first call. Losing the file loses what is sealed under them."""
    file = folder / FILE
    found: dict[str, str] = json.loads(file.read_text()) if file.exists() else {}
    wanted = {name: secrets.token_urlsafe(24) for name in (SUPERUSER, OWNER, APPLICATION, "broker")}
    wanted |= {"DJANGO_SECRET_KEY": secrets.token_urlsafe(48), "demo": secrets.token_urlsafe(9)}
    wanted |= {name: _key() for name in KEYS}
    if not wanted.keys() <= found.keys():
        found = {**wanted, **found}
        write_private(file, json.dumps(found, indent=1))
    return found


def _key() -> str:
    return base64.b64encode(os.urandom(32)).decode()
