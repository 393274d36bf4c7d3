"""What a long-lived process has loaded stays: so its garbage collector is told to look at it no more.

A full pass of the collector goes through every object there is. Django and the product are 150,000, which takes it some
90 ms, in the midst of whichever page or step made it due. Frozen, they are passed over; and a pool's children, which
are forked afterwards, go on sharing the memory of what nobody touches.
"""

from __future__ import annotations

import gc
from pathlib import Path

from django.template import engines
from django.template.backends.django import DjangoTemplates
from django.template.loader import get_template
from django.urls import get_resolver


def settle() -> None:
    """Take all that is loaded out of the collector's sight. Once a process has what it works with, before it forks."""
    gc.collect()
    gc.freeze()


def load_pages() -> None:
    """Load views and compile templates, as the first requests would do otherwise, each of them late for it.

    Raises what a view's module or a template raises that is broken.
    """
    assert get_resolver().url_patterns, "no address leads anywhere"  # to ask for them imports the views
    for engine in engines.all():
        assert isinstance(engine, DjangoTemplates)
        for folder in map(Path, engine.engine.dirs):
            for path in sorted(folder.rglob("*.html")):
                get_template(path.relative_to(folder).as_posix(), using=engine.name)
