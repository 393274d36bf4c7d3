"""What compose.yaml deploys: every setting can be given to it, and what processes keep or share lies in volumes."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any

import pytest

from durable import env

ROOT = Path(__file__).resolve().parents[2]
COMPOSE = (ROOT / "compose.yaml").read_text()
#: Not for whoever deploys it so: the image or the processes themselves say it.
DECIDED = {
    "DATABASE_POOL",  # by the web process; a worker keeps a connection for each child
    "DEBUG",
    "INTERLOCK_DATA",
    "INTERLOCK_EXPORTS",
    "PGBIN",
    "STATIC_HASHED",
    "STATIC_ROOT",
}
GIVEN = re.findall(r"^ +([A-Z][A-Z_]+): ", COMPOSE, re.MULTILINE)
MAY_BE_EMPTY = sorted(set(re.findall(r"\$\{([A-Z_]+):-\}", COMPOSE)))


def documented() -> set[str]:
    return set(re.findall(r"^\| `([A-Z_]+)`", (ROOT / "docs/operations.md").read_text(), re.MULTILINE))


def services() -> dict[str, str]:
    """Each of the product's processes with what is said of it alone, and `product` with what is said of all."""
    product, rest = COMPOSE.split("\nservices:\n")
    own = re.findall(r"^  (\w+):\n    <<: \*product\n(.*?)(?=^  \w|^\w)", rest, re.MULTILINE | re.DOTALL)
    return {"product": product, **dict(own)}


def mounted(said: str) -> list[str]:
    """The folders of a container that lie in volumes."""
    return re.findall(r'"\w+:(/\w+)"', "".join(re.findall(r"^ +volumes: (.*)", said, re.MULTILINE)))


def settings(monkeypatch: pytest.MonkeyPatch, **given: str) -> dict[str, Any]:
    """All settings as they are where these names alone stand in the environment."""
    monkeypatch.setattr(env, "_FOUND", {"DJANGO_SECRET_KEY": "one", **given})
    monkeypatch.setattr(env, "MISSING", [])
    found = runpy.run_path(str(ROOT / "durable/settings.py"))
    return {name: value for name, value in found.items() if name.isupper() and name != "MISSING"}


def test_every_setting_can_be_given_to_the_deployment() -> None:
    assert documented() - {*GIVEN} == DECIDED


def test_what_is_given_to_the_product_is_a_setting() -> None:
    given = "".join(services().values())

    assert {*re.findall(r"^ +([A-Z][A-Z_]+): ", given, re.MULTILINE)} - documented() == set()


def test_a_setting_that_is_left_empty_has_its_default(monkeypatch: pytest.MonkeyPatch) -> None:
    bare = settings(monkeypatch)

    assert len(MAY_BE_EMPTY) > 20
    assert settings(monkeypatch, **dict.fromkeys(MAY_BE_EMPTY, "")) == bare
    assert settings(monkeypatch, INTERLOCK_TIME_ZONE="Europe/Berlin") != bare


def test_pages_and_workers_share_the_data_folder() -> None:
    assert services().keys() == {"product", "migrate", "web", "worker", "sweeper", "beat"}
    # A process that names volumes of its own has those alone.
    own = {name: mounted(said) for name, said in services().items() if "volumes:" in said}

    assert {"product", "worker"} <= own.keys()
    assert [name for name, folders in own.items() if "/data" not in folders] == []
    assert "INTERLOCK_DATA=/data" in (ROOT / "Dockerfile").read_text()


def test_every_file_that_a_process_keeps_lies_in_a_volume() -> None:
    kept = {name: re.findall(r"^ +[A-Z_]+: (/\w+)/", said, re.MULTILINE) for name, said in services().items()}

    assert kept["worker"] == ["/roots", "/roots"]
    assert [name for name, folders in kept.items() if {*folders} - {*mounted(services()[name])}] == []
