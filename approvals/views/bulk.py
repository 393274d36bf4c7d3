"""Several alike gates at once: each gets its own decision, by the same command, with its own digest and round."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse

from approvals import access, attempts, decisions, htmx, problems
from approvals.capabilities import Capability
from approvals.decisions import Answer
from approvals.forms import BulkForm
from approvals.models import Gate
from approvals.queries import alike as alike_gates
from approvals.queries import gate as one_gate
from approvals.queries import inbox
from approvals.states import PAST, Verdict
from approvals.views.decisions import circumstances
from approvals.views.doors import SignedIn, door
from durable.clock import db_now
from durable.errors import InterlockError, Invalid, NotFound


@door("GET")
def alike(request: SignedIn, gate_id: int) -> HttpResponse:
    """The gates that are alike to one, each with what it would send."""
    return _show(request, access.get_gate(request.user, gate_id))


@door("POST")
def decide_alike(request: SignedIn, gate_id: int) -> HttpResponse:
    """Answer each chosen gate by itself, and tell of each what became of it."""
    gate = access.get_gate(request.user, gate_id)
    form = BulkForm(request.POST)
    if not form.is_valid():
        return _show(
            request,
            gate,
            status=HTTPStatus.UNPROCESSABLE_ENTITY,
            problem=f"Nothing was recorded: {problems.of_form(form)}.",
        )
    chosen = form.cleaned_data["gate"]
    try:
        gates = [access.get_gate(request.user, one.pk) for one in chosen]
        alike_gates.check(gates)
    except (Invalid, NotFound) as error:
        problem = f"Nothing was recorded: {problems.told(error)}."
        ticked = [one.pk for one in chosen]
        return _show(request, gate, status=HTTPStatus.UNPROCESSABLE_ENTITY, problem=problem, chosen=ticked)
    verdict, words = Verdict(form.cleaned_data["verdict"]), form.cleaned_data["reason"]
    results = []
    for one, found in zip(chosen, gates, strict=True):
        results.append(_answer(request, found, Answer(verdict, one.digest, one.round, words)))
    refused = [result for result in results if not result["done"]]
    if refused:
        # Who may not decide at all has tried it all the same: the refusal of each is kept like any other.
        status = HTTPStatus.CONFLICT if access.may(request.user, Capability.DECIDE) else HTTPStatus.FORBIDDEN
        return _show(request, gate, status=status, results=results, chosen=[r["id"] for r in refused])
    lines = [f"Decided: {PAST[verdict]} {len(gates)}, {alike_gates.total(gates)} in sum."]
    lines += [f"{result['title']}, {result['key']}: {result['words']}" for result in results]
    messages.success(request, "\n".join(lines))
    following = inbox.following(request.user, gates[-1])
    return htmx.see_other(
        request, reverse("gates") if following is None else reverse("gate", args=[following])
    )


def _answer(request: SignedIn, gate: Gate, answer: Answer) -> dict[str, Any]:
    """One gate's result: whether it was recorded, and the sentence."""
    told = {"id": gate.pk, "title": one_gate.title(gate), "key": gate.effect.key}
    try:
        decisions.decide(request.user, gate.pk, answer, circumstances(request))
    except InterlockError as refusal:
        if isinstance(refusal, decisions.KEPT):
            attempts.on_record(request)
        else:
            attempts.refused(request, str(refusal))
        return told | {"done": False, "words": str(refusal), "state": "conflict"}
    return told | {"done": True, "words": PAST[answer.verdict], "state": PAST[answer.verdict]}


def _show(
    request: SignedIn,
    gate: Gate,
    *,
    status: int = HTTPStatus.OK,
    problem: str = "",
    results: list[dict[str, Any]] | None = None,
    chosen: Sequence[int] = (),
) -> HttpResponse:
    """The page of alike gates. `chosen` are ticked: none at first, afterwards those that were refused."""
    if problem:
        attempts.because(request, problem)
    rows = alike_gates.listing(request.user, gate, chosen)
    for row in rows:
        row["ticked"] = row["id"] in chosen
    currency = gate.effect.currency
    context = {
        "gate": {"id": gate.pk, "title": one_gate.title(gate)},
        "rows": rows,
        "rule": f"One tool, one class, one currency; at most {alike_gates.limits(currency)},"
        f" {alike_gates.MOST} at once.",
        "results": results or [],
        "problem": problem,
        "section": "gates",
        "now": db_now(),
    }
    return render(request, "approvals/gate_alike.html", context, status=status)
