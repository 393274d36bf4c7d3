"""Dossiers: all that is known of one effect, one run or one subject, on a page, on paper, and as a file."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone

from approvals import access, dossier_file, htmx
from approvals.capabilities import Capability
from approvals.queries import dossier, dossiers, pages
from approvals.queries.dossiers import Dossier
from approvals.views.doors import SignedIn, door
from durable import acts, present
from durable.beats import committing
from durable.models import Effect
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
    """The dossier of one effect as a file; with what its vendor has of it now, if that was ticked."""
    effect = access.get_effect(request.user, key)
    access.check(request.user, Capability.EXPORT)
    seen = {key: _asked(request, effect)} if request.POST.get("ask") else {}
    return _file(request, dossiers.of_effect(effect), seen)


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
    """Ask the vendor what it has of an effect at this moment, and show the dossier with it. No answer is kept."""
    effect = access.get_effect(request.user, key)
    seen = dossier.at_vendor(_asked(request, effect))
    return _page(request, dossiers.of_effect(effect), {"seen": seen, "case": {"id": effect.pk, "key": key}})


def _asked(request: SignedIn, effect: Effect) -> present.Seen:
    """Ask the vendor, once the log has who asks: what can't be logged is not asked. It stands with the person: the
    effect's own chain tells what happened to it, and a look is nothing that happens to it.
    """
    with committing("command"):
        acts.record(
            ActKind.LOOK_ASKED,
            actor=access.actor(request.user),
            about=acts.person(request.user.pk),
            concerns=effect.key,
        )
    return present.at_vendor(effect)


def _page(request: SignedIn, found: Dossier, more: dict[str, Any] | None = None) -> HttpResponse:
    after = pages.cursor(request.GET.get("after"))
    context = dossiers.page(found, request.user, after=after) | {"section": "ledger"}
    context |= {"held": found.held, "gone": found.gone}
    context["may_take"] = access.may(request.user, Capability.EXPORT)
    if more is None:
        return render(request, TEMPLATE, context)
    return htmx.page(request, TEMPLATE, context | more, fragment="vendor")


def _file(request: SignedIn, found: Dossier, seen: Mapping[str, present.Seen] | None = None) -> HttpResponse:
    access.check(request.user, Capability.EXPORT)
    zone = timezone.get_current_timezone_name()
    name, content = dossier_file.made(found, access.actor(request.user), zone, seen or {})
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
