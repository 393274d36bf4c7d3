"""Gates: the inbox, one gate, its facts, and what an open page is told of changes."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

from django.contrib.auth.models import User
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse

from approvals import access, attempts, differences, gate_radius, htmx, opened, outcomes, whole
from approvals.capabilities import Capability
from approvals.errors import Difference
from approvals.forms import EditForm
from approvals.models import Gate
from approvals.queries import gate as one_gate
from approvals.queries import inbox, news
from approvals.states import LIVE, GateState, Verdict
from approvals.views.doors import SignedIn, door
from durable.clock import db_now
from durable.errors import InterlockError


@door("GET", needs=Capability.SEE_GATES)
def gates(request: SignedIn) -> HttpResponse:
    """The gates that wait, with the first of them open where there is room."""
    if htmx.wants_fragment(request):
        return _told(request)
    queue = inbox.queue(request.user, request.GET.get("after"))
    context = {"queue": queue, "now": queue["now"], "base": queue["version"], "seen": queue["version"]}
    if queue["ids"]:
        first = access.get_gate(request.user, queue["ids"][0])
        context |= one_gate.detail(request.user, first, queue) | forms(request.user, first)
    return render(request, "approvals/gate_list.html", context)


@door("GET")
def gate(request: SignedIn, gate_id: int) -> HttpResponse:
    """One gate, open or decided."""
    if htmx.wants_fragment(request):
        return _told(request, gate_id)
    return show(request, access.get_gate(request.user, gate_id))


@door("GET")
def facts(request: SignedIn, gate_id: int) -> HttpResponse:
    """A gate with its facts as they are now: the fragment, or the page. Asks the vendor, so no poll asks this."""
    found = access.get_gate(request.user, gate_id)
    if not htmx.wants_fragment(request):
        return show(request, found, read=True)
    context = one_gate.facts(found, read=True) | {"gate": {"id": found.pk}, "now": db_now()}
    return render(request, "approvals/_facts.html", context)


@door("GET")
def payload(request: SignedIn, gate_id: int) -> HttpResponse:
    """A gate with all of a long payload: the page, or payload and acts. What is served so carries the proof."""
    found = access.get_gate(request.user, gate_id)
    if not htmx.wants_fragment(request):
        return show(request, found, opened=True)
    context = one_gate.detail(request.user, found) | forms(request.user, found, opened=True)
    return render(request, "approvals/gate_detail.html#whole", context)


def _told(request: SignedIn, gate_id: int | None = None) -> HttpResponse:
    """What has changed since an open page was made: 204 while nothing has, for two queries."""
    access.check(request.user, Capability.SEE_GATES)
    current, left = news.now(request.user, gate_id)
    if htmx.unchanged(request, current):
        return htmx.not_modified(left)
    base = request.GET.get("from") or request.GET.get("seen", "")
    found = None if gate_id is None else access.get_gate(request.user, gate_id)
    context = news.told(request.user, base, current, found) | {"gate_id": gate_id}
    return render(request, "approvals/_news.html", context)


def show(
    request: SignedIn,
    found: Gate,
    *,
    status: int = HTTPStatus.OK,
    problem: str = "",
    changes: Sequence[Difference] = (),
    edit: EditForm | None = None,
    read: bool = False,
    opened: bool = False,
) -> HttpResponse:
    """The gate's page, as a reader or as somebody whose answer was not recorded sees it.

    `read`: with facts as now. `opened`: with all of a long payload, as for somebody who had it open when they answered.
    An `edit` that was refused stands open on it, as it was filled in.
    """
    if problem:
        attempts.because(request, problem)
    opened = opened or whole.proven(request.user, found, request.POST.get("whole", ""))
    context = one_gate.detail(request.user, found, read=read) | forms(request.user, found, edit, opened)
    context |= {"problem": problem, "differences": changes, "section": "gates"}
    if edit is not None:
        again = next((act for act in context["acts"] if act["id"] == Verdict.EDIT.value), None)
        if again is not None:
            context["acts"].remove(again)
            context["again"] = again | {"said": request.POST.get("reason", "")}
    return render(request, "approvals/gate_detail.html", context, status=status)


def forms(user: User, found: Gate, edit: EditForm | None = None, opened: bool = False) -> dict[str, Any]:
    """The acts that this person may do at this gate, and, where approving is none of them, why.

    Over a long payload that is not `opened`, what needs all of it comes first (`fold`): no yes and no edit is offered.
    """
    if GateState(found.state) not in LIVE:
        return {"approve": None, "acts": [], "why_not": "", "fold": False, "whole": "", "everything": opened}
    if news.late(found, access.read_at(found)):
        over = f"It had to be decided by {outcomes.moment(found.decide_by)}: too late. Nothing is sent."
        return {
            "approve": None,
            "acts": [],
            "why_not": over,
            "fold": False,
            "whole": "",
            "everything": opened,
        }
    open_now = found.state == GateState.OPEN
    reason = access.why_not(user, found, Verdict.APPROVE) or differences.unreadable(
        found.payload, found.digest, found.effect.run
    )
    approve: dict[str, Any] | None = {
        "url": reverse("decisions", args=[found.pk]),
        "label": f"Approve {one_gate.approval_of(found)}".replace(" :", ":"),
    }
    approve = approve if open_now and reason is None else None
    once_more = gate_radius.once_more(found) if approve else []
    edits = _edit(user, found, edit)
    long = bool(approve or edits) and whole.long(found)
    proof = whole.proof(user, found) if long and opened else ""
    if edits:
        edits = None if long and not opened else edits | {"hidden": {**edits["hidden"], "whole": proof}}
    override = (
        _override(found, once_more, proof) if approve and once_more and not (long and not opened) else None
    )
    acts = [act for act in (override, edits, _ask_back(user, found), _reject(user, found)) if act]
    if access.may(user, Capability.ANSWER_BACK) and not open_now:
        acts.append(_answer(found))
    return {
        "approve": None if once_more else approve,
        "acts": acts,
        "why_not": _why_not(user, reason, open_now),
        "fold": long and not opened,
        "whole": proof,
        "everything": opened,
    }


def _why_not(user: User, reason: str | None, open_now: bool) -> str:
    """Why there is no button to approve. Who is here to read was never going to press one."""
    if not access.may(user, Capability.DECIDE):
        return ""
    if reason:
        return f"You can't approve this: {reason}."
    return "" if open_now else "A question is open."


def _act(found: Gate, verdict: Verdict, **more: Any) -> dict[str, Any]:
    hidden = {"verdict": verdict.value, "digest": found.digest, "round": str(found.round)}
    slug = verdict.value.replace(" ", "-")
    return {"id": slug, "url": reverse("decisions", args=[found.pk]), "hidden": hidden, "kind": "", **more}


def _override(found: Gate, preview: list[str], proof: str) -> dict[str, Any]:
    """The yes to what may have been done already: on purpose, with a reason, having read what was done."""
    act = _act(
        found,
        Verdict.APPROVE,
        label="Approve once more",
        icon="alert-triangle",
        title=f"Once more: {one_gate.title(found)}",
        preview=preview,
        key="a",
        reason="required",
        reason_label="Why it is done once more",
        verb=f"Approve {one_gate.approval_of(found)}".replace(" :", ":"),
    )
    return act | {"kind": "danger", "hidden": act["hidden"] | {"whole": proof}}


def _edit(user: User, found: Gate, form: EditForm | None) -> dict[str, Any] | None:
    if (
        found.state != GateState.OPEN
        or access.why_not(user, found, Verdict.EDIT)
        or found.effect.undo_of_id is not None
        or found.effect.sends  # its payload is bound since the first request
    ):
        return None
    form = form or edit_form(found)
    if form is None:
        return None
    return _act(
        found,
        Verdict.EDIT,
        label="Edit",
        icon="pencil",
        title="Edit what would be sent",
        fields=list(form),
        preview=gate_radius.of_edit(found, access.eligible(found), user),
        reason="optional",
        reason_label="Why you change it",
        key="e",
        focus=True,
        verb="Ask about this",
    )


def edit_form(found: Gate, data: Any = None) -> EditForm | None:
    """The form over the gate's arguments; None where its tool is gone or its data erased."""
    try:
        return EditForm(found.effect.tool, opened.read(found.payload, found.effect.run)["args"], data)
    except InterlockError:
        return None


def _ask_back(user: User, found: Gate) -> dict[str, Any] | None:
    if found.state != GateState.OPEN or access.why_not(user, found, Verdict.ASK_BACK):
        return None
    return _act(
        found,
        Verdict.ASK_BACK,
        label="Ask back",
        icon="message-circle-question",
        title="Ask before you decide",
        preview=gate_radius.of_ask_back(found),
        reason="required",
        reason_help="An operator answers; the clock runs on.",
        verb="Ask",
    )


def _reject(user: User, found: Gate) -> dict[str, Any] | None:
    if access.why_not(user, found, Verdict.REJECT):
        return None
    return _act(
        found,
        Verdict.REJECT,
        label="Reject",
        icon="ban",
        kind="danger",
        title=f"Reject: {one_gate.title(found)}",
        preview=gate_radius.of_reject(found),
        key="r",
        reason="required",
        reason_help="The agent gets these words, unchanged.",
        verb="Reject",
    )


def _answer(found: Gate) -> dict[str, Any]:
    return {
        "id": "answer",
        "url": reverse("answers", args=[found.pk]),
        "label": "Answer",
        "icon": "message-circle-question",
        "kind": "main",
        "title": "Answer the reviewer",
        "preview": gate_radius.of_answer(found),
        "hidden": {},
        "reason": "required",
        "reason_help": "Opens a new round that shows your answer.",
        "verb": "Answer",
    }
