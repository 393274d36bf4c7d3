"""The life of an export: asked for, made by a worker, stopped, deleted, expired. Each step is an act in the log.

Made in the background by whichever worker comes first, from one snapshot; a worker that dies leaves nothing, and the
next one begins anew. The right to it is asked for when it is ordered, when its making begins and ends, and at every
download: whoever loses the right has no file any more.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import Any

from celery import current_app
from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from approvals import access
from approvals.exports import files, sources
from approvals.models import Export
from approvals.states import UNDER_WAY, UNDER_WAY_VALUES, ExportForm, ExportState
from durable import acts, journal
from durable.beats import committing
from durable.clock import db_now
from durable.errors import Conflict, Invalid, NotFound
from durable.models.fields import Clock
from durable.states import ActKind
from durable.text import check_text

log = logging.getLogger(__name__)

TASK = "approvals.export"
#: So many may be under way for one person: others want theirs too.
AT_ONCE = 3
LONGEST = 500


def order(person: User, of: str, query: str, form: str) -> Export:
    """Ask for a file, in the present time zone; the same once more while it is under way is that one.

    Raises access.Missing without the right, Invalid for what can't be understood, NotFound for a dossier of nothing,
    and Conflict where too many are under way.
    """
    if of not in sources.KINDS:
        raise Invalid("of", f"must be one of {', '.join(sources.KINDS)}")
    if form not in list(ExportForm):
        raise Invalid("form", f"must be one of {', '.join(ExportForm)}")
    if len(check_text(query, "q")) > LONGEST:
        raise Invalid("q", f"must be at most {LONGEST} characters")
    sources.check(person, of)
    source = sources.find(of, query, db_now())
    if form == ExportForm.BUNDLE:
        source.proven()
    with committing("command"):
        # One at a time for each person: or two clicks ask for two files.
        User.objects.select_for_update().get(pk=person.pk)
        mine = Export.objects.filter(person=person, state__in=UNDER_WAY_VALUES)
        same = mine.filter(of=of, query=query, form=form).first()
        if same is not None:
            return same
        if mine.count() >= AT_ONCE:
            raise Conflict(
                f"{AT_ONCE} of your exports are under way; wait until one is made, or stop one, and ask again"
            )
        made = Export.objects.create(
            person=person,
            of=of,
            query=query,
            form=form,
            zone=timezone.get_current_timezone_name(),
            total=source.number,
        )
        # The words of a search may name somebody: they are sealed beside the act.
        record(ActKind.EXPORT_ASKED, made, access.actor(person), {}, {"state": made.state}, query)
        transaction.on_commit(partial(announce, made.pk))
    return made


def get(person: User, pk: int) -> Export:
    """Return an export of this person, who may still take files out. Raises the same NotFound for any other."""
    found = Export.objects.select_related("person").filter(pk=pk, person=person).first()
    if found is None or not _may(person, found):
        raise NotFound("no such export")
    return found


def _may(person: User, export: Export) -> bool:
    try:
        sources.check(person, export.of)
    except access.Missing:
        return False
    return True


def stop(person: User, pk: int) -> None:
    """Let nobody go on with it. Raises NotFound, or Conflict where it is over."""
    get(person, pk)
    with committing("command"):
        export = Export.objects.select_for_update().get(pk=pk)
        if export.state not in UNDER_WAY:
            raise Conflict(f"It is {export.state} already; there is nothing to stop")
        end(export, ExportState.STOPPED, ActKind.EXPORT_STOPPED, access.actor(person))


def delete(person: User, pk: int) -> None:
    """Take the file away before its time. Raises NotFound, or Conflict where there is none."""
    get(person, pk)
    with committing("command"):
        export = Export.objects.select_for_update().get(pk=pk)
        if export.state != ExportState.MADE:
            raise Conflict(f"It is {export.state}; there is no file to delete")
        end(export, ExportState.DELETED, ActKind.EXPORT_DELETED, access.actor(person))


def end(export: Export, to: ExportState, what: ActKind, actor: str, words: str = "") -> None:
    """In the caller's transaction: nobody waits for it any more, its file goes, and so does what was asked."""
    files.remove(export.file)
    Export.objects.filter(pk=export.pk).update(
        state=to.value,
        ended_at=Clock(),
        lease_until=None,
        expires_at=None,
        file="",
        query="",
        manifest={},
        words=words,
    )
    record(what, export, actor, {"state": export.state}, {"state": to.value}, why=words)


def taken(person: User, pk: int) -> Export:
    """Log that somebody takes the file, and return it. Raises NotFound, or Conflict where there is none (any more)."""
    get(person, pk)
    with committing("command"):
        export = Export.objects.select_for_update().select_related("person").get(pk=pk)
        if not Export.objects.filter(pk=pk, state=ExportState.MADE.value, expires_at__gt=Clock()).exists():
            raise Conflict("Its file is not there any more" if export.ended_at else "It is not made yet")
        told = {name: export.manifest.get(name) for name in ("rows", "sha256")}
        record(ActKind.EXPORT_TAKEN, export, access.actor(person), **told)
    return export


def sweep() -> None:
    """Take away what is over: files whose time has come, files of people who have lost the right, and strays."""
    for export in Export.objects.filter(state=ExportState.MADE.value).select_related("person").order_by("pk"):
        late = Export.objects.filter(pk=export.pk, expires_at__lte=Clock()).exists()
        if late or not _may(export.person, export):
            _expire(export.pk, "" if late else "its maker has lost the right to it")
    files.clear(_wanted)


def _expire(pk: int, why: str) -> None:
    with committing("command"):
        export = Export.objects.select_for_update().get(pk=pk)
        if export.state == ExportState.MADE:
            end(export, ExportState.EXPIRED, ActKind.EXPORT_EXPIRED, journal.ENGINE, why)


def _wanted(pk: int, claim: int, name: str) -> bool:
    """Whether a file is one that is there to be taken, or may just be made: until another one claims it, or it ends."""
    here = Export.objects.filter(pk=pk)
    made = here.filter(state=ExportState.MADE.value, file=name)
    making = here.filter(state=ExportState.MAKING.value, claim=claim)
    return made.exists() or making.exists()


def announce(pk: int) -> None:
    """Tell the workers. Without a broker the next look of beat finds it."""
    try:
        current_app.send_task(TASK, [pk], retry=False, ignore_result=True)
    except Exception as error:  # it is committed: whatever is wrong with the broker, nobody is told "failed"
        log.warning("broker away, beat will find export %s: %s", pk, type(error).__name__)


def record(
    what: ActKind,
    export: Export,
    actor: str,
    before: dict[str, Any] | None = None,
    after: dict[str, Any] | None = None,
    query: str = "",
    **more: Any,
) -> None:
    """Log an act on an export, in the caller's transaction. The query is kept sealed, all else in clear."""
    body = {"of": export.of, "form": export.form} | {name: value for name, value in more.items() if value}
    about = acts.about("export", export.pk)
    acts.record(what, actor=actor, about=about, before=before, after=after, reason=query, body=body)
