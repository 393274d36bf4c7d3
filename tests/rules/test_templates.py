"""The pages carry nothing that the content security policy would refuse, and escape everything."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))
FORBIDDEN = {
    "an inline script": re.compile(r"<script(?![^>]*\bsrc=)[^>]*>", re.IGNORECASE),
    "a style element": re.compile(r"<style\b", re.IGNORECASE),
    "a style attribute": re.compile(r"<[^>]*\sstyle\s*=", re.IGNORECASE),
    "an event attribute": re.compile(r"<[^>]*\son[a-z]+\s*=", re.IGNORECASE),
    "an htmx script attribute": re.compile(r"<[^>]*\shx-(on|vals=.js|vals=.javascript)", re.IGNORECASE),
    "a javascript address": re.compile(r"""=\s*["']?\s*javascript:""", re.IGNORECASE),
    "an address of another host": re.compile(
        r"""<(?:script|link|img|iframe)[^>]*(?:src|href)=["']?(?:https?:)?//""", re.I
    ),
    "escaping turned off": re.compile(r"\|\s*(?:safe|safeseq)\b|\{%\s*autoescape\s+off"),
}
BAD = {
    "an inline script": "<script>alert(1)</script>",
    "a style element": "<style>p{}</style>",
    "a style attribute": '<p class="x" style="color:red">',
    "an event attribute": '<a href="#" onclick="x()">',
    "an htmx script attribute": '<p hx-on:click="x()">',
    "a javascript address": '<a href="javascript:x()">',
    "an address of another host": '<script src="https://cdn.example/x.js"></script>',
    "escaping turned off": "{{ text|safe }}",
}


@pytest.mark.parametrize("what", FORBIDDEN)
def test_the_pages_carry_none(what: str) -> None:
    found = [str(path.relative_to(ROOT)) for path in TEMPLATES if FORBIDDEN[what].search(path.read_text())]

    assert TEMPLATES
    assert found == []


@pytest.mark.parametrize("what", FORBIDDEN)
def test_each_rule_knows_what_it_forbids(what: str) -> None:
    assert FORBIDDEN[what].search(BAD[what])


def test_no_code_declares_a_text_to_be_safe() -> None:
    code = [path for place in ("durable", "approvals") for path in (ROOT / place).rglob("*.py")]
    found = [
        str(path.relative_to(ROOT))
        for path in code
        if re.search(r"\bmark_safe\b|\bSafeString\(", path.read_text())
    ]

    assert found == []
