"""Having a person's data erased from the console or a shell: the engine erases runs, the console what it keeps itself.

Saved views and queries of acts on many may hold a name, and so may what people wrote in the log about either, or as the
reason of a stop order: whatever names the person goes in the commit by which the erasure becomes due: that of the
second person who asks for the same, where it takes two.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from celery import current_app
from django.db.models import Q

from approvals.exports import orders
from approvals.models import BulkAct, Export, RunView
from approvals.states import UNDER_WAY_VALUES, ExportState
from durable import acts, concerned, erasure_orders, holds, stops, vault
from durable.concerned import Called
from durable.errors import InterlockError
from durable.models import ActWords, Erasure
from durable.states import ActKind

log = logging.getLogger(__name__)

TASK = "durable.erase"
#: Words in the log that are about addresses and browsers of people who work here, never about customers.
_OF_STAFF = (ActKind.SIGNED_IN, ActKind.SIGNED_OUT, ActKind.SIGN_IN_REFUSED)


def ask(
    called: Sequence[Called],
    *,
    actor: str,
    seen: str,
    reason: str,
    reference: str = "",
    others: str = "",
    thoroughly: bool = False,
) -> Erasure:
    """Have a person's data erased; see `durable.erasure_orders.ask`. A worker is told; beat finds it, too."""
    said = _said_of(called)
    erasure = erasure_orders.ask(
        called,
        actor=actor,
        seen=seen,
        reason=reason,
        reference=reference,
        others=others,
        thoroughly=thoroughly,
        goes=lambda: _forget(called, said, actor),
    )
    if not erasure.proposed:
        announce(erasure.pk)
    return erasure


def announce(pk: int) -> None:
    """Tell a worker that an erasure waits. Beat finds it, too, where nobody hears this."""
    try:
        current_app.send_task(TASK, [pk], retry=False, ignore_result=True)
    except Exception as error:  # it is committed: whatever is wrong with the broker, nobody is told "failed"
        log.warning("broker away, beat carries on: %s", type(error).__name__)


def _said_of(called: Sequence[Called]) -> list[int]:
    """The events outside of runs whose sealed words name the person."""
    kinds = [kind.value for kind in ActKind if kind not in _OF_STAFF]
    found = ActWords.objects.select_related("key").filter(event__kind__in=kinds, key__destroyed_at=None)
    return [said.event_id for said in found.iterator() if _names(called, said)]


def _names(called: Sequence[Called], said: ActWords) -> bool:
    try:
        words = vault.read_act(said)
    except InterlockError:
        return False
    return any(concerned.stands_in(one, words) for one in called)


def _forget(called: Sequence[Called], said: Sequence[int], actor: str) -> None:
    """In the commit of the erasure: what the console itself keeps of these names."""
    texts = {one.text.strip() for one in called}
    for text in texts:
        views = RunView.objects.filter(Q(name__icontains=text) | Q(query__icontains=text))
        for view in views.select_related("person"):
            acts.record(
                ActKind.VIEW_DELETED,
                actor="interlock",
                about=acts.person(view.person_id),
                body={"view": view.pk, "why": "erasure"},
            )
        views.delete()
        BulkAct.objects.filter(query__icontains=text).update(query="")
        BulkAct.objects.filter(reason__icontains=text).update(reason="(erased)")
    for event in said:
        vault.forget_words(event)

    def names(words: str) -> bool:
        return any(concerned.stands_in(one, words) for one in called)

    holds.forget(names)
    stops.forget(names)
    _drop_files(actor)


def _drop_files(actor: str) -> None:
    """Take away every file that was made for somebody to take: any may hold what is erased. They are made anew."""
    kept = Q(state=ExportState.MADE.value) | Q(state__in=UNDER_WAY_VALUES)
    for export in Export.objects.select_for_update().filter(kept).order_by("pk"):
        made = export.state == ExportState.MADE
        to, what = (
            (ExportState.DELETED, ActKind.EXPORT_DELETED)
            if made
            else (ExportState.STOPPED, ActKind.EXPORT_STOPPED)
        )
        orders.end(export, to, what, actor, "a person's data was erased; ask for it anew")
