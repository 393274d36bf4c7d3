"""A setting that is wrong or missing stops the start with one line that names it and its rule."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from durable import env

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The environment as the readers see it: put names in."""
    values: dict[str, str] = {}
    monkeypatch.setattr(env, "_FOUND", values)
    monkeypatch.setattr(env, "MISSING", [])
    return values


def refused(name: str) -> pytest.RaisesExc[ImproperlyConfigured]:
    return pytest.raises(ImproperlyConfigured, match=f"^{name} [^\n]+$")


@pytest.mark.parametrize("text", ["x", "1.5", "0", "101", "٣x", "1e3", "--5"])
def test_a_number_outside_its_bounds_is_refused(found: dict[str, str], text: str) -> None:
    found["WORKERS"] = text
    with refused("WORKERS"):
        env.env_int("WORKERS", 5, low=1, high=100)


@pytest.mark.parametrize("text", ["x", "nan", "inf", "-1", "0.99", "61"])
def test_a_duration_outside_its_bounds_is_refused(found: dict[str, str], text: str) -> None:
    found["LEASE"] = text
    with refused("LEASE"):
        env.env_seconds("LEASE", 5, low=1, high=60)


def test_a_duration_is_in_seconds(found: dict[str, str]) -> None:
    found["LEASE"] = "2.5"
    assert env.env_seconds("LEASE", 5, low=1, high=60) == timedelta(seconds=2.5)


@pytest.mark.parametrize("text", ["yes", "1", "True", "on"])
def test_a_switch_is_true_or_false_and_nothing_else(found: dict[str, str], text: str) -> None:
    found["DEBUG"] = text
    with refused("DEBUG"):
        env.env_bool("DEBUG", False)


@pytest.mark.parametrize("text", ["mysql://u:hidden@h/d", "hidden", "postgresql://u:hidden@h:70000/d"])
def test_a_wrong_address_is_refused_without_showing_its_password(found: dict[str, str], text: str) -> None:
    found["DATABASE_URL"] = text
    with refused("DATABASE_URL") as caught:
        env.env_url("DATABASE_URL", schemes=("postgresql",))
    assert "hidden@" not in str(caught.value)


@pytest.mark.parametrize("text", ["hidden", "aGlkZGVu", "A" * 43 + "?"])
def test_a_key_of_another_length_is_refused_without_being_shown(found: dict[str, str], text: str) -> None:
    found["INTERLOCK_SEAL_KEY"] = text
    with refused("INTERLOCK_SEAL_KEY") as caught:
        env.env_key("INTERLOCK_SEAL_KEY")
    assert text not in str(caught.value)


def test_a_secret_may_come_from_a_file(found: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "key").write_text("from the file\n")
    found["STRIPE_API_KEY_FILE"] = str(tmp_path / "key")
    assert env.env_secret("STRIPE_API_KEY") == "from the file"


def test_a_secret_file_that_is_not_there_is_named(found: dict[str, str], tmp_path: Path) -> None:
    found["STRIPE_API_KEY_FILE"] = str(tmp_path / "none")
    with refused("STRIPE_API_KEY_FILE"):
        env.env_secret("STRIPE_API_KEY")


def test_what_is_needed_and_missing_is_noted(found: dict[str, str]) -> None:
    env.env_url("DATABASE_URL", schemes=("postgresql",), required=True)
    env.env_key("INTERLOCK_SEAL_KEY")
    assert env.MISSING == ["DATABASE_URL", "INTERLOCK_SEAL_KEY"]


def test_the_environment_hides_the_embedded_database_and_its_owner(tmp_path: Path) -> None:
    file = tmp_path / "runtime.json"
    file.write_text(
        '{"DATABASE_URL": "embedded", "DATABASE_OWNER_URL": "its owner", "CELERY_BROKER_URL": "b"}'
    )
    assert "DATABASE_OWNER_URL" not in env._runtime(file, {"DATABASE_URL": "mine"})
    assert env._runtime(file, {})["DATABASE_OWNER_URL"] == "its owner"


def run(*words: str, **changes: str | None) -> subprocess.CompletedProcess[str]:
    surroundings = {name: value for name, value in {**os.environ, **changes}.items() if value is not None}
    return subprocess.run(
        [sys.executable, *words], cwd=ROOT, env=surroundings, capture_output=True, text=True, check=False
    )


def test_a_wrong_setting_ends_a_command_with_one_line_and_exit_code_2() -> None:
    answer = run("manage.py", "migrate", LEASE_SECONDS="soon")

    assert answer.returncode == 2
    assert answer.stderr.splitlines() == [
        "manage.py: LEASE_SECONDS must be a number of seconds from 1 to 3600; it is 'soon'"
    ]


@pytest.mark.parametrize(
    "words",
    [
        ("manage.py", "migrate"),
        ("-m", "celery", "-A", "durable.celery", "worker"),
        ("-c", "import durable.wsgi"),
    ],
)
def test_every_process_names_what_is_missing_in_one_line(words: tuple[str, ...], tmp_path: Path) -> None:
    answer = run(*words, INTERLOCK_DATA=str(tmp_path), DATABASE_URL=None, INTERLOCK_SEAL_KEY=None)

    assert answer.returncode != 0
    assert "DATABASE_URL, INTERLOCK_SEAL_KEY must be set" in answer.stderr
    assert len(answer.stderr.splitlines()) == 1


def test_migrations_are_complete() -> None:
    answer = run("manage.py", "makemigrations", "--check", "--dry-run")

    assert answer.returncode == 0, answer.stdout
