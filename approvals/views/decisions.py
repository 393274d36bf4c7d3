"""Decisions: the one door through which a page's answer to a gate goes."""

from __future__ import annotations

from http import HTTPStatus

from django.contrib import messages
from django.http import HttpResponse
from django.urls import reverse

from approvals import access, address, attempts, decisions, htmx, problems, signins
from approvals.capabilities import Capability
from approvals.decisions import Answer, Circumstances
from approvals.errors import Decided, Expired, Refused, Stale, Unread
from approvals.forms import DecisionForm, EditForm, ReasonForm
from approvals.models import Decision, Gate
from approvals.queries import gate as one_gate
from approvals.queries import inbox
from approvals.states import Verdict
from approvals.views.doors import SignedIn, door
from approvals.views.gates import edit_form, show
from durable.errors import Conflict, InterlockError, Invalid

_DONE = {
    Verdict.APPROVE: "Decided: approved, {title}. {run} goes on as soon as a worker takes it.",
    Verdict.REJECT: "Decided: rejected, {title}. {run} goes on with your refusal.",
    Verdict.EDIT: "Edited, {title}. This is the new round; somebody else decides about it.",
    Verdict.ASK_BACK: "Asked about {title}. It stays undecided until an operator has answered.",
}
_BROWSER_SHOWN = 300


@door("POST")
def decide(request: SignedIn, gate_id: int) -> HttpResponse:
    """Record one person's answer, or say in words why not."""
    form = DecisionForm(request.POST)
    if not form.is_valid():
        return _incomplete(request, gate_id, f"Nothing was recorded: {problems.of_form(form)}.")
    verdict = Verdict(form.cleaned_data["verdict"])
    edit = None
    if verdict is Verdict.EDIT:
        edit = edit_form(access.find_gate(request.user, gate_id), request.POST)
    try:
        decision = decisions.decide(
            request.user, gate_id, _answer(form, verdict, edit), circumstances(request)
        )
    except InterlockError as refusal:
        if isinstance(refusal, decisions.KEPT):
            attempts.on_record(request)
        return refused(request, gate_id, refusal, edit)
    gate = decision.gate
    title = one_gate.title(gate)
    messages.success(request, _DONE[verdict].format(run=gate.effect.run.ref, title=title))
    return htmx.see_other(request, _leads_to(request, decision, gate))


@door("POST")
def answer_back(request: SignedIn, gate_id: int) -> HttpResponse:
    """Answer what a reviewer has asked back."""
    form = ReasonForm(request.POST)
    if not form.is_valid():
        return _incomplete(request, gate_id, f"Nothing was recorded: {problems.of_form(form)}.")
    try:
        opened = decisions.answer_back(request.user, gate_id, form.cleaned_data["reason"])
    except InterlockError as refusal:
        if isinstance(refusal, Refused):
            attempts.refused(request, str(refusal), Capability.ANSWER_BACK.value)
        return refused(request, gate_id, refusal)
    messages.success(request, "Answered. The reviewers see it in a new round.")
    return htmx.see_other(request, reverse("gate", args=[opened.pk]))


def circumstances(request: SignedIn) -> Circumstances:
    """Where a request came from, and how and when whoever sent it had signed in."""
    method, at = signins.proven(request.session)
    return Circumstances(
        ip=address.of(request),
        browser=request.headers.get("User-Agent", "")[:_BROWSER_SHOWN],
        authenticated=method,
        signed_in_at=at,
    )


def _incomplete(request: SignedIn, gate_id: int, problem: str) -> HttpResponse:
    gate = access.get_gate(request.user, gate_id)
    return show(request, gate, status=HTTPStatus.UNPROCESSABLE_ENTITY, problem=problem)


def refused(
    request: SignedIn, gate_id: int, refusal: InterlockError, edit: EditForm | None = None
) -> HttpResponse:
    """The gate as it stands now, with the reason why nothing was recorded. NotFound goes on to the door."""
    if isinstance(refusal, Stale):
        gate = access.get_gate(request.user, refusal.gate_id)
        return show(
            request, gate, status=HTTPStatus.CONFLICT, problem=str(refusal), changes=refusal.differences
        )
    gate = access.get_gate(request.user, gate_id)
    if isinstance(refusal, Unread):
        return show(request, gate, status=HTTPStatus.CONFLICT, problem=str(refusal))
    if isinstance(refusal, Refused):
        return show(request, gate, status=HTTPStatus.FORBIDDEN, problem=str(refusal))
    if isinstance(refusal, (Decided, Expired, Conflict)):
        return show(request, gate, status=HTTPStatus.CONFLICT, problem=_sentence(refusal))
    if isinstance(refusal, Invalid):
        if edit is not None:
            edit.blame(refusal)
        problem = f"Nothing was recorded: {problems.told(refusal)}."
        return show(request, gate, status=HTTPStatus.UNPROCESSABLE_ENTITY, problem=problem, edit=edit)
    return show(
        request, gate, status=HTTPStatus.CONFLICT, problem=f"Nothing was recorded: {problems.told(refusal)}."
    )


def _sentence(refusal: Conflict) -> str:
    return str(refusal) if isinstance(refusal, (Decided, Expired)) else f"Nothing was recorded: {refusal}."


def _answer(form: DecisionForm, verdict: Verdict, edit: EditForm | None) -> Answer:
    args = None if edit is None else edit.edited()
    data = form.cleaned_data
    return Answer(verdict, data["digest"], data["round"], data["reason"], args, data["whole"])


def _leads_to(request: SignedIn, decision: Decision, gate: Gate) -> str:
    """Where to look next: after an edit at the round that it opened, else at the next gate that waits."""
    if decision.verdict == Verdict.EDIT:
        newest = Gate.objects.filter(effect_id=gate.effect_id).order_by("-round").values_list("pk", flat=True)
        return reverse("gate", args=[newest[0]])
    following = inbox.following(request.user, gate)
    return reverse("gates") if following is None else reverse("gate", args=[following])
