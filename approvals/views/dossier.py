"""Dossiers: all that is known of one effect, one run or one subject, on a page, on paper, and as a file."""

from __future__ import annotations

import hashlib
from typing import Any

from django.http import HttpResponse

from approvals import access, dossier_file, htmx
from approvals.capabilities import Capability
from approvals.queries import dossiers, pages, retained
from approvals.queries.dossier import receipt_rows
from approvals.queries.dossiers import Dossier
from approvals.views.doors import SignedIn, door
from durable import acts, present
from durable.beats import committing
from durable.states import ActKind

TEMPLATE = "approvals/dossier.html"


def _of_effect(request: SignedIn, key: str) -> Dossier:
    return dossiers.of_effect(access.get_effect(request.user, key))


def _of_run(request: SignedIn, ref: str) -> Dossier:
    return dossiers.of_run(access.get_ledger_of_run(request.user, ref))


def _of_subject(request: SignedIn, hash: str) -> Dossier:
    return dossiers.of_subject(access.get_subject(request.user, hash))


@door("GET")
def of_effect(request: SignedIn, key: str) -> HttpResponse:
    """The dossier of one effect."""
    return _page(request, _of_effect(request, key))


@door("GET")
def of_run(request: SignedIn, ref: str) -> HttpResponse:
    """The dossier of one run."""
    return _page(request, _of_run(request, ref))


@door("GET")
def of_subject(request: SignedIn, hash: str) -> HttpResponse:
    """The dossier of one subject, by its keyed hash: no address names anybody."""
    return _page(request, _of_subject(request, hash))


@door("POST")
def effect_files(request: SignedIn, key: str) -> HttpResponse:
    """The dossier of one effect as a file."""
    return _file(request, _of_effect(request, key))


@door("POST")
def run_files(request: SignedIn, ref: str) -> HttpResponse:
    """The dossier of one run as a file."""
    return _file(request, _of_run(request, ref))


@door("POST")
def subject_files(request: SignedIn, hash: str) -> HttpResponse:
    """The dossier of one subject as a file."""
    return _file(request, _of_subject(request, hash))


@door("POST")
def look_ups(request: SignedIn, key: str) -> HttpResponse:
    """Ask the vendor what it has of an effect at this moment, and show the dossier with the answer. Nothing is kept."""
    effect = access.get_effect(request.user, key)
    seen = present.at_vendor(effect)
    return _page(
        request, dossiers.of_effect(effect), {"seen": _seen(seen), "case": {"id": effect.pk, "key": key}}
    )


def _seen(seen: present.Seen) -> dict[str, Any]:
    return {
        "at": seen.at,
        "cannot": seen.cannot,
        "receipts": [
            {"id": receipt["id"], "wrong": wrong, "rows": receipt_rows(receipt)}
            for receipt, wrong in seen.receipts
        ],
    }


def _page(request: SignedIn, found: Dossier, more: dict[str, Any] | None = None) -> HttpResponse:
    after = pages.cursor(request.GET.get("after"))
    context = dossiers.page(found, request.user, after=after) | {"section": "ledger"}
    context |= {"held": found.held, "gone": retained.gone()}
    context["may_take"] = access.may(request.user, Capability.EXPORT)
    return htmx.page(request, TEMPLATE, context | (more or {}), fragment="vendor" if more else "whole")


def _file(request: SignedIn, found: Dossier) -> HttpResponse:
    access.check(request.user, Capability.EXPORT)
    name, content = dossier_file.made(found, access.actor(request.user), found.at)
    with committing("command"):  # what can't be logged is not given away
        acts.record(
            ActKind.DOSSIER_TAKEN,
            actor=access.actor(request.user),
            about=acts.person(request.user.pk),
            concerns=f"subject:{found.name}" if found.kind == "subject" else found.name,
            body={"of": found.kind, "sha256": hashlib.sha256(content).hexdigest()},
        )
    answer = HttpResponse(content, content_type="application/json")
    answer["Content-Disposition"] = f'attachment; filename="{name}"'
    return answer
