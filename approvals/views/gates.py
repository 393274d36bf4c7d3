"""Gates: the inbox and one gate."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

from django.contrib.auth.models import User
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse

from approvals import access, differences, htmx, opened, radius
from approvals.capabilities import Capability
from approvals.errors import Difference
from approvals.forms import EditForm
from approvals.models import Gate
from approvals.queries import gate as one_gate
from approvals.queries import inbox
from approvals.states import LIVE, GateState, Verdict
from approvals.views.doors import SignedIn, door
from durable.clock import db_now
from durable.errors import InterlockError


@door("GET", needs=Capability.SEE_GATES)
def gates(request: SignedIn) -> HttpResponse:
    """The gates that wait."""
    queue = inbox.queue(request.user, request.GET.get("after"))
    context = {"queue": queue, "now": db_now()}
    return htmx.page(request, "approvals/gate_list.html", context, fragment="queue", version=queue["version"])


@door("GET")
def gate(request: SignedIn, gate_id: int) -> HttpResponse:
    """One gate, open or decided."""
    return show(request, access.get_gate(request.user, gate_id))


def show(
    request: SignedIn,
    found: Gate,
    *,
    status: int = HTTPStatus.OK,
    problem: str = "",
    changes: Sequence[Difference] = (),
    edit: EditForm | None = None,
) -> HttpResponse:
    """The gate's page, as a reader or as somebody whose answer was not recorded sees it."""
    context = one_gate.detail(request.user, found) | forms(request.user, found, edit)
    context |= {"problem": problem, "differences": changes, "section": "gates"}
    return render(request, "approvals/gate_detail.html", context, status=status)


def forms(user: User, found: Gate, edit: EditForm | None = None) -> dict[str, Any]:
    """The acts that this person may do at this gate, and, where approving is none of them, why."""
    if GateState(found.state) not in LIVE:
        return {"approve": None, "acts": [], "why_not": ""}
    open_now = found.state == GateState.OPEN
    reason = access.why_not(user, found, Verdict.APPROVE) or differences.unreadable(
        found.payload, found.digest, found.effect.run
    )
    approve = {
        "url": reverse("decisions", args=[found.pk]),
        "label": f"Approve {one_gate.approval_of(found)}".replace(" :", ":"),
    }
    acts = [act for act in (_edit(user, found, edit), _ask_back(user, found), _reject(user, found)) if act]
    if access.may(user, Capability.ANSWER_BACK) and not open_now:
        acts.append(_answer(found))
    return {
        "approve": approve if open_now and reason is None else None,
        "acts": acts,
        "why_not": _why_not(user, reason, open_now),
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


def _edit(user: User, found: Gate, form: EditForm | None) -> dict[str, Any] | None:
    if (
        found.state != GateState.OPEN
        or access.why_not(user, found, Verdict.EDIT)
        or found.effect.undo_of_id is not None
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
        preview=radius.of_edit(found, access.eligible(found), user),
        reason="optional",
        reason_label="Why you change it",
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
        preview=radius.of_ask_back(found),
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
        preview=radius.of_reject(found),
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
        "preview": radius.of_answer(found),
        "hidden": {},
        "reason": "required",
        "reason_help": "Opens a new round that shows your answer.",
        "verb": "Answer",
    }
