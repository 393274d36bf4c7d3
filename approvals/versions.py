"""The product and what it stands on, by name."""

from __future__ import annotations

import platform
import tomllib
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import celery
import django
from django.conf import settings


@cache
def versions() -> dict[str, str]:
    """Return what runs here; the same for as long as the process lives."""
    return {
        "Interlock": _interlock(),
        "Python": platform.python_version(),
        "Django": django.get_version(),
        "Celery": celery.__version__,
    }


def _interlock() -> str:
    """From the checkout that is running, else from the installed package."""
    try:
        project = tomllib.loads((Path(settings.BASE_DIR) / "pyproject.toml").read_text())
        return str(project["project"]["version"])
    except OSError:
        try:
            return version("interlock")
        except PackageNotFoundError:
            return "unknown"
