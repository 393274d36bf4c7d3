"""Exports: what one would be, asking for it, and the files that are there until their time is over."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http import HTTPStatus
from typing import IO, Any, cast

from django.contrib import messages
from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse

from approvals import htmx, problems
from approvals.capabilities import Capability
from approvals.exports import files, orders, sources
from approvals.queries import exports as seen
from approvals.queries import pages
from approvals.views.doors import SignedIn, door, query_text
from durable.clock import db_now
from durable.errors import Conflict, Invalid
from durable.text import mend

LIST, NEW = "approvals/export_list.html", "approvals/export_new.html"
#: Whatever a file holds, no browser makes a page of it.
SANDBOX = "default-src 'none'; sandbox; frame-ancestors 'none'"


@door("GET", needs=Capability.EXPORT)
def exports(request: SignedIn) -> HttpResponse:
    """The person's own exports, with how far each is."""
    return _list(request)


@door("GET", needs=Capability.EXPORT)
def draft(request: SignedIn) -> HttpResponse:
    """What an export would be: of what, how many rows, in which forms."""
    return _draft(request, query_text(request, "of") or "ledger", query_text(request, "q"))


@door("POST", needs=Capability.EXPORT)
def requests(request: SignedIn) -> HttpResponse:
    """Ask for an export."""
    of, query, form = (mend(request.POST.get(name, "")).strip() for name in ("of", "q", "form"))
    try:
        orders.order(request.user, of, query, form)
    except Invalid as error:
        return _draft(
            request,
            of,
            query,
            problem=f"Nothing was asked for: {problems.told(error)}.",
            status=HTTPStatus.UNPROCESSABLE_ENTITY,
        )
    except Conflict as error:
        return _draft(request, of, query, problem=f"{error}.", status=HTTPStatus.CONFLICT)
    return htmx.see_other(request, reverse("exports"))


@door("POST")
def stops(request: SignedIn, pk: int) -> HttpResponse:
    """Let nobody go on with an export."""
    return _done(request, lambda: orders.stop(request.user, pk), "Stopped. No file is left of it.")


@door("POST")
def deletions(request: SignedIn, pk: int) -> HttpResponse:
    """Take a file away before its time."""
    return _done(
        request, lambda: orders.delete(request.user, pk), "Deleted. Nobody can download it any more."
    )


@door("POST")
def downloads(request: SignedIn, pk: int) -> HttpResponse:
    """The file, as an attachment that no browser opens; or its manifest."""
    export = orders.get(request.user, pk)
    if request.POST.get("what") == "manifest" and export.manifest:
        text = json.dumps(export.manifest, ensure_ascii=False, indent=1)
        answer = HttpResponse(f"{text}\n", content_type="application/json; charset=utf-8")
        return _attached(answer, f"{export.manifest['file']}.manifest.json")
    try:
        file = _opened(export.file, export.bytes)
        try:
            export = orders.taken(request.user, pk)
        except BaseException:
            file.close()
            raise
    except Conflict as error:
        return _list(request, problem=f"{error}.", status=HTTPStatus.CONFLICT)
    streamed = StreamingHttpResponse(_blocks(file), content_type=_TYPES[export.form])
    streamed["Content-Length"] = str(export.bytes)
    return _attached(streamed, str(export.manifest["file"]))


_TYPES = {
    "csv": "text/csv; charset=utf-8; header=present",
    "jsonl": "application/jsonl; charset=utf-8",
    "bundle": "application/zip",
}


def _opened(name: str, size: int) -> IO[bytes]:
    """The file, whole. Raises Conflict where it is not there, or is not what was made."""
    if not name:
        raise Conflict("Its file is not there (any more)")
    try:
        file = files.path(name).open("rb")
    except OSError:
        raise Conflict(
            "Its file can't be read here: pages and workers must share the folder for exports"
        ) from None
    if file.seek(0, 2) != size:
        file.close()
        raise Conflict("Its file is not whole any more; ask for it again")
    file.seek(0)
    return file


def _blocks(file: IO[bytes]) -> Iterator[bytes]:
    with file:
        while block := file.read(files.BLOCK):
            yield block


def _attached(answer: HttpResponseBase, name: str) -> HttpResponse:
    """Let whatever is in the answer be kept as a file, and be nothing else."""
    answer["Content-Disposition"] = f'attachment; filename="{name}"'
    answer["Content-Security-Policy"] = SANDBOX
    answer["X-Content-Type-Options"] = "nosniff"
    answer["Cache-Control"] = "no-store, private"
    return cast(HttpResponse, answer)  # what streams is no HttpResponse by name, but passes wherever one does


def _done(request: SignedIn, act: Any, words: str) -> HttpResponse:
    try:
        act()
    except Conflict as error:
        return _list(request, problem=f"{error}.", status=HTTPStatus.CONFLICT)
    messages.success(request, words)
    return htmx.see_other(request, reverse("exports"))


def _list(request: SignedIn, *, problem: str = "", status: int = HTTPStatus.OK) -> HttpResponse:
    after, before = (pages.cursor(request.GET.get(name)) for name in ("after", "before"))
    context = seen.listing(request.user, after=after, before=before) | {
        "problem": problem,
        "section": "exports",
    }
    if htmx.unchanged(request, context["version"]):
        return htmx.not_modified()
    return htmx.page(request, LIST, context, fragment="live", ended=not context["live"], status=status)


def _draft(
    request: SignedIn, of: str, query: str, *, problem: str = "", status: int = HTTPStatus.OK
) -> HttpResponse:
    if of not in sources.KINDS:
        raise Http404("there is nothing of this kind to export")
    source = None
    try:
        sources.check(request.user, of)
        source = sources.find(of, query, db_now())
    except Invalid as error:
        problem = problem or f"Nothing can be exported: {error.rule}"
        status = HTTPStatus.UNPROCESSABLE_ENTITY
    context = seen.draft(of, query, source) | {"problem": problem, "section": "exports", "now": db_now()}
    return render(request, NEW, context, status=status)
