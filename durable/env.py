"""Typed readers of the environment: each refuses a bad value in one line that names the variable and the rule.

A secret may also come from a file: `NAME_FILE` names it. What `manage.py up` has started for this checkout is read from
the runtime file in the data folder, wherever the environment says nothing.
"""

from __future__ import annotations

import base64
import binascii
import json
import os
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit
from zoneinfo import available_timezones

from django.core.exceptions import ImproperlyConfigured

BASE_DIR = Path(__file__).resolve().parent.parent
INTERLOCK_DATA = Path(os.environ.get("INTERLOCK_DATA") or BASE_DIR / ".interlock").resolve()

#: Names of settings that the services need and nobody gave; `checks.require_services` refuses to start with any.
MISSING: list[str] = []


def _runtime(file: Path, environ: Mapping[str, str]) -> dict[str, str]:
    """What `manage.py up` wrote about its services; a database of one's own hides the embedded one entirely."""
    try:
        found = json.loads(file.read_text())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise ImproperlyConfigured(
            f"{file} cannot be read ({error}): delete it and start `manage.py up` again"
        ) from None
    if "DATABASE_URL" in environ:
        found.pop("DATABASE_OWNER_URL", None)
    return {str(name): str(value) for name, value in found.items()}


_FOUND = {**_runtime(INTERLOCK_DATA / "runtime.json", os.environ), **os.environ}


def env_str(name: str, default: str = "", *, choices: tuple[str, ...] = ()) -> str:
    """The text of `name`, or `default`; one of `choices` where there are any."""
    value = _FOUND.get(name, "").strip() or default
    if choices and value not in choices:
        raise ImproperlyConfigured(f"{name} must be one of {', '.join(choices)}; it is {value!r}")
    return value


def env_list(name: str, default: tuple[str, ...] = ()) -> list[str]:
    """Comma-separated words."""
    return [word.strip() for word in env_str(name).split(",") if word.strip()] or list(default)


def env_int(name: str, default: int, *, low: int, high: int) -> int:
    """A whole number from `low` to `high`, both allowed."""
    text = env_str(name, str(default))
    if not text.removeprefix("-").isdecimal() or not low <= int(text) <= high:
        raise ImproperlyConfigured(f"{name} must be a whole number from {low} to {high}; it is {text!r}")
    return int(text)


def env_bool(name: str, default: bool) -> bool:
    """true or false, in these words."""
    return env_str(name, str(default).lower(), choices=("true", "false")) == "true"


def env_seconds(name: str, default: float, *, low: float, high: float) -> timedelta:
    """A number of seconds from `low` to `high`, fractions allowed."""
    text = env_str(name, str(default))
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not low <= value <= high:
        raise ImproperlyConfigured(
            f"{name} must be a number of seconds from {low:g} to {high:g}; it is {text!r}"
        )
    return timedelta(seconds=value)


def env_secret(name: str, default: str = "") -> str:
    """The text of `name`, or of the file that `NAME_FILE` names. No message ever shows it."""
    file = env_str(f"{name}_FILE")
    if not file:
        return env_str(name, default)
    try:
        return Path(file).read_text().strip()
    except OSError as error:
        raise ImproperlyConfigured(
            f"{name}_FILE names {file}, which cannot be read: {error.strerror}"
        ) from None


def env_url(name: str, default: str = "", *, schemes: tuple[str, ...], required: bool = False) -> str:
    """A URL of one of `schemes`. It may hold a password, so a message shows the scheme alone."""
    value = env_secret(name, default)
    if not value and required:
        MISSING.append(name)
    try:
        scheme, port = urlsplit(value).scheme, urlsplit(value).port
    except ValueError:
        raise ImproperlyConfigured(
            f"{name} is not a URL: its port must be a number from 0 to 65535"
        ) from None
    if value and (scheme not in schemes or port == 0):
        raise ImproperlyConfigured(
            f"{name} must be a URL that begins with one of {', '.join(schemes)}; its scheme is {scheme!r}"
        )
    return value


def env_zone(name: str, default: str) -> str:
    """The name of a time zone, as the IANA database has it."""
    value = env_str(name, default)
    if value not in available_timezones():
        raise ImproperlyConfigured(
            f"{name} must be the name of a time zone such as Europe/Berlin; it is {value!r}"
        )
    return value


def env_key(name: str, *, required: bool = True) -> bytes:
    """32 random bytes in base64: `python -c "import base64,os;print(base64.b64encode(os.urandom(32)).decode())"`."""
    text = env_secret(name)
    if not text:
        if required:
            MISSING.append(name)
        return b""
    try:
        key = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if len(key) != 32:
        raise ImproperlyConfigured(f"{name} must be 32 bytes in base64 (44 characters)")
    return key
