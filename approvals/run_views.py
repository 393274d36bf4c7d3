"""A person's own views of the runs list: saved under a name, and forgotten."""

from __future__ import annotations

from django.contrib.auth.models import User

from approvals import access
from approvals.models import RunView
from approvals.run_query import parse
from durable import acts
from durable.beats import committing
from durable.errors import Conflict, Invalid, NotFound
from durable.states import ActKind

#: More are no help: they stand beside each other above the list.
MOST = 20


def save(person: User, name: str, text: str) -> RunView:
    """Keep a query under a name. Raises Invalid for one without a part, Conflict for a name that is taken."""
    query = parse(text)
    if query.problems:
        raise Invalid("q", query.problems[0])
    if not query.parts:
        raise Invalid("q", "filter the list first; a view of all runs is there already")
    with committing("command"):
        User.objects.select_for_update().get(pk=person.pk)  # one of two at once is the later one
        mine = RunView.objects.filter(person=person)
        if mine.filter(name=name).exists():
            raise Conflict("You have a view of this name already; take another name, or delete that one")
        if mine.count() >= MOST:
            raise Conflict(f"You have {MOST} views; delete one first")
        made = RunView.objects.create(person=person, name=name, query=str(query))
        _log(ActKind.VIEW_SAVED, made)
        return made


def delete(person: User, pk: int) -> RunView:
    """Forget one of the person's views; returns what it was. Raises NotFound for what is not theirs."""
    found = RunView.objects.filter(person=person, pk=pk).first()
    if found is None:
        raise NotFound("no such view")
    with committing("command"):
        if RunView.objects.filter(person=person, pk=pk).delete()[0]:
            _log(ActKind.VIEW_DELETED, found)
    return found


def _log(what: ActKind, view: RunView) -> None:
    """A name and a query may be about somebody: they are sealed."""
    acts.record(
        what,
        actor=access.actor(view.person),
        about=acts.person(view.person_id),
        body={"view": view.pk},
        reason=f"{view.name}: {view.query}",
    )
