"""A fork from one checkpoint: what it will do, and the state and the input that it begins with, to be changed.

What somebody has changed is shown first, as a difference. The form then carries a name of just that, and with nothing
else is a fork made.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse

from approvals import access, acts, attempts, radius
from approvals.capabilities import Capability
from approvals.queries import checkpoints as points
from approvals.queries import pages
from approvals.queries import run as one_run
from approvals.run_forms import ForkForm, SteerForm, pretty
from approvals.views.doors import SignedIn, door
from durable import plan, steering
from durable.digest import digest
from durable.errors import InterlockError, NotFound
from durable.models import Run
from durable.steering import Beginning

_TITLES = {"input": "The input that it begins with", "state": "The working state that it begins with"}


@door("GET")
def fork(request: SignedIn, ref: str) -> HttpResponse:
    """A fork from the checkpoint `?version=`, before it is made."""
    found = access.get_run(request.user, ref)
    return page(request, found, pages.cursor(request.GET.get("version")) or found.version)


def page(
    request: SignedIn,
    found: Run,
    version: int,
    *,
    status: int = HTTPStatus.OK,
    problem: str = "",
    typed: SteerForm | None = None,
) -> HttpResponse:
    """The page of a fork, as a reader, or as somebody who has `typed` something sees it."""
    access.check(request.user, Capability.STEER_RUNS)
    if problem:
        attempts.because(request, problem)
    read = one_run.read(found, log=False)
    point, kept = points.one(found, version)
    form = typed or ForkForm(auto_id="fork-%s", initial={"state": pretty(kept), "input": pretty(found.input)})
    form["input"].help_text = _takes(found)
    changed = _changed(found, kept, typed)
    replaced = () if changed is None else changed.replaced
    tokens = (read.points[0]["budget"] or {}).get("tokens", 0) - point["tokens"] if read.points else 0
    context = {
        "run": points.about(found), "here": "checkpoints", "section": "runs", "now": read.now,
        "message_count": found.message_count, "point": point, "problem": problem, "fits": acts.fits("forks", read),
        "changes": _changes(found, kept, changed) if changed else [],
        "act": {
            "url": reverse("forks", args=[found.ref]), "title": f"Fork {found.ref} from checkpoint {version}",
            "preview": radius.of_fork(acts.scene(read), point, tokens, replaced),
            "hidden": {"seen": read.stands.whole, "version": version, "alone": "yes", "shown": _name(version, changed)},
            "fields": [form[name] for name in ("input", "state")] if _may_change(request) else [], "id": "forks",
            "reason": "required", "said": request.POST.get("reason", ""),
            "focus": True,  # nothing: the page is read from its top
        },
    }  # fmt: skip
    return render(request, "approvals/run_fork.html", context, status=status)


def look(request: SignedIn, found: Run, form: SteerForm) -> HttpResponse | None:
    """What a fork would begin with otherwise than its parent, to be looked at; None where just that was shown.

    Raises Invalid, naming the field, for a state or an input that its agent would refuse.
    """
    version = form.cleaned_data["version"]
    try:
        _, kept = points.one(found, version)
    except NotFound:
        return None  # the command says so
    begins = _begins(found, kept, form)
    if not begins.replaced or form.cleaned_data["shown"] == _name(version, begins):
        return None
    return page(request, found, version, typed=form)


def refused(request: SignedIn, found: Run, show: Any, **shown: Any) -> HttpResponse:
    """A fork that was asked for on its own page is refused there, with what was typed; else on the run's page."""
    version = pages.cursor(request.POST.get("version"))
    if "alone" not in request.POST or version is None:
        answer: HttpResponse = show(request, found, **shown)
        return answer
    form = shown.get("form") or ForkForm(request.POST, auto_id="fork-%s")
    return page(request, found, version, status=shown["status"], problem=shown["problem"], typed=form)


def _may_change(request: SignedIn) -> bool:
    return access.may(request.user, Capability.EDIT_STATE)


def _begins(found: Run, kept: Any, form: SteerForm) -> Beginning:
    data = form.cleaned_data
    return steering.beginning(found, kept, data["state"], data["input"])


def _changed(found: Run, kept: Any, typed: SteerForm | None) -> Beginning | None:
    """What is typed into the form, where it can be forked with and is not what stands there anyway."""
    if typed is None or not typed.is_valid():
        return None
    try:
        begins = _begins(found, kept, typed)
    except InterlockError:
        return None
    return begins if begins.replaced else None


def _changes(found: Run, kept: Any, changed: Beginning) -> list[dict[str, Any]]:
    pairs = {"input": (found.input, changed.input), "state": (kept, changed.state)}
    return [
        {"id": name, "title": title, **points.compared(*pairs[name])}
        for name, title in _TITLES.items()
        if name in changed.replaced
    ]


def _name(version: int, changed: Beginning | None) -> str:
    """A name of what is changed; nothing where nothing is."""
    if changed is None or not changed.replaced:
        return ""
    return digest([version, changed.state, changed.input])


def _takes(found: Run) -> str:
    """What the agent's input holds, by its type."""
    try:
        model = plan.get(found.agent).Input
    except InterlockError:
        return ""
    return "" if model is None else f"{found.agent} takes: {', '.join(model.model_fields)}."
