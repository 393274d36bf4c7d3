"""Gates and decisions: who was asked about which payload, and what each person answered."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q

from approvals.capabilities import PERMISSIONS
from approvals.states import (
    FINAL_VALUES,
    LIVE_VALUES,
    UNDER_WAY_VALUES,
    BulkState,
    ExportForm,
    ExportState,
    GateState,
    Outcome,
    Verdict,
)
from durable.models import Effect, Run, Sealed, Wait
from durable.models.fields import Clock, one_of, state_field


class Gate(models.Model):
    """One asking of people about one payload: a round of an effect, bound to its digest.

    `payload` is what the page shows, byte for byte; a later round has its own. `act_by` is set by the approval:
    `act_within` from then. `used_at` is when the approval let the effect out.
    """

    wait = models.OneToOneField(Wait, models.PROTECT, related_name="gate")
    effect = models.ForeignKey(Effect, models.PROTECT, related_name="gates")
    round = models.IntegerField()
    state = state_field(GateState.OPEN)
    digest = models.TextField()
    payload = models.ForeignKey(Sealed, models.PROTECT, related_name="+")
    reason = models.TextField()
    needed = models.IntegerField(default=1)
    opened_at = models.DateTimeField(db_default=Clock())
    decide_by = models.DateTimeField()
    act_within = models.DurationField()
    act_by = models.DateTimeField(null=True)
    used_at = models.DateTimeField(null=True)
    closed_at = models.DateTimeField(null=True)

    class Meta:
        default_permissions = ()
        permissions = PERMISSIONS
        constraints = [
            one_of("state", GateState, "gate_state_known"),
            models.UniqueConstraint(fields=["effect", "round"], name="gate_once_per_round"),
            models.UniqueConstraint(
                fields=["effect"], condition=Q(state__in=LIVE_VALUES), name="gate_live_once_per_effect"
            ),
            models.CheckConstraint(condition=Q(needed__gte=1), name="gate_needs_somebody"),
            models.CheckConstraint(
                condition=Q(used_at=None) | ~Q(act_by=None), name="gate_used_only_approved"
            ),
        ]
        indexes = [
            models.Index(fields=["decide_by", "id"], name="gate_live", condition=Q(state__in=LIVE_VALUES)),
        ]

    def __str__(self) -> str:
        return f"gate {self.pk}, round {self.round}"


class Decision(models.Model):
    """One person's recorded answer. Written once: the database refuses change, deletion and truncation.

    `sealed` holds the person's words, address and browser, erasable with the run's personal data. `authenticated` is
    how the person had proven who they are, `signed_in_at` when; null where that is not known, as in decisions of old.
    """

    gate = models.ForeignKey(Gate, models.PROTECT, related_name="decisions")
    person = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="decisions")
    verdict = state_field()
    digest = models.TextField()
    round = models.IntegerField()
    sealed = models.ForeignKey(Sealed, models.PROTECT, related_name="+")
    authenticated = models.TextField()
    signed_in_at = models.DateTimeField(null=True)
    at = models.DateTimeField(db_default=Clock())

    class Meta:
        default_permissions = ()
        constraints = [
            one_of("verdict", Verdict, "decision_verdict_known"),
            models.UniqueConstraint(
                fields=["gate", "person"],
                condition=Q(verdict__in=FINAL_VALUES),
                name="decision_once_per_person",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.verdict} of gate {self.gate_id}"


class RunView(models.Model):
    """A person's name for a query of the runs list. Nobody else sees it."""

    person = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="run_views", db_index=False
    )
    name = models.TextField()
    query = models.TextField()
    at = models.DateTimeField(db_default=Clock())

    class Meta:
        default_permissions = ()
        constraints = [models.UniqueConstraint(fields=["person", "name"], name="run_view_once")]

    def __str__(self) -> str:
        return self.name


class BulkAct(models.Model):
    """One act on many runs: which ones is fixed when it is drafted, and nothing is done before a person starts it.

    `query` is what found them, empty where they were chosen one by one; `radius` what the person was shown. A worker
    that goes through them holds `lease_until`; when that is over, another one goes on.
    """

    person = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="bulk_acts")
    act = models.TextField()
    query = models.TextField(default="")
    total = models.IntegerField()
    radius = models.JSONField(default=dict)
    reason = models.TextField(default="")
    state = state_field(BulkState.DRAFTED)
    drafted_at = models.DateTimeField(db_default=Clock())
    started_at = models.DateTimeField(null=True)
    lease_until = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    stopped_by = models.TextField(default="")

    class Meta:
        default_permissions = ()
        constraints = [one_of("state", BulkState, "bulk_state_known")]
        indexes = [models.Index(fields=["id"], name="bulk_going", condition=Q(state="going"))]

    def __str__(self) -> str:
        return f"bulk act {self.pk}"


class BulkResult(models.Model):
    """One run of a bulk act: how it stood when the act was drafted, and what became of the act on it.

    `outlook` is why the act did not fit it then, empty where it did; `seen` names how it stood (`durable.standing`):
    where that has changed, nothing is done to it. The outcome is written in the act's own commit, so that a run is
    acted on once, whatever is killed and begun again.
    """

    bulk = models.ForeignKey(BulkAct, models.CASCADE, related_name="results", db_index=False)
    run = models.ForeignKey(Run, models.PROTECT, related_name="+", db_index=False)
    outlook = models.TextField(default="")
    seen = models.TextField()
    outcome = state_field(Outcome.WAITING)
    words = models.TextField(default="")
    at = models.DateTimeField(null=True)

    class Meta:
        default_permissions = ()
        constraints = [
            one_of("outcome", Outcome, "bulk_outcome_known"),
            models.UniqueConstraint(fields=["bulk", "run"], name="bulk_run_once"),
        ]
        indexes = [models.Index(fields=["bulk", "outcome", "-id"], name="bulk_by_outcome")]

    def __str__(self) -> str:
        return f"{self.outcome}: run {self.run_id} of bulk act {self.bulk_id}"


class Export(models.Model):
    """A file that somebody has asked for: rows of the ledger or of the log, made in the background.

    `of` names what is exported and `query` which part of it, as asked at `asked_at` in `zone`; the query may name a
    person, so it is emptied as soon as there is no file. A worker that makes it holds `lease_until`; `claim` counts who
    has tried, and fences: the file's name bears it. `file` is its name in the folder for exports, `manifest` what is
    said of it.
    """

    person = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.PROTECT, related_name="exports", db_index=False
    )
    of = models.TextField()
    query = models.TextField(default="")
    form = state_field()
    zone = models.TextField()
    state = state_field(ExportState.ASKED)
    asked_at = models.DateTimeField(db_default=Clock())
    claim = models.IntegerField(default=0)
    lease_until = models.DateTimeField(null=True)
    rows = models.BigIntegerField(default=0)
    total = models.BigIntegerField(null=True)
    file = models.TextField(default="")
    bytes = models.BigIntegerField(default=0)
    manifest = models.JSONField(default=dict)
    ended_at = models.DateTimeField(null=True)
    expires_at = models.DateTimeField(null=True)
    words = models.TextField(default="")

    class Meta:
        default_permissions = ()
        constraints = [
            one_of("state", ExportState, "export_state_known"),
            one_of("form", ExportForm, "export_form_known"),
            models.CheckConstraint(
                condition=~Q(state="made") | Q(expires_at__isnull=False) & ~Q(file=""),
                name="export_made_expires",
            ),
        ]
        indexes = [
            models.Index(fields=["person", "-id"], name="export_of_person"),
            models.Index(fields=["id"], name="export_under_way", condition=Q(state__in=UNDER_WAY_VALUES)),
            models.Index(fields=["expires_at"], name="export_expires", condition=Q(state="made")),
        ]

    def __str__(self) -> str:
        return f"export {self.pk}"


class Reader(models.Model):
    """How a person reads: in which time zone; empty for the house's."""

    person = models.OneToOneField(settings.AUTH_USER_MODEL, models.CASCADE, related_name="reader")
    zone = models.TextField(default="")

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return self.zone


class SignInTry(models.Model):
    """How often a sign-in was tried within a while: for a name, in a browser that knows it, or from an address.

    `key` holds no name and no address, only keyed hashes of them.
    """

    key = models.TextField(primary_key=True)
    until = models.DateTimeField()
    tries = models.IntegerField(default=1)

    class Meta:
        default_permissions = ()
        indexes = [models.Index(fields=["until"], name="sign_in_try_until")]

    def __str__(self) -> str:
        return f"{self.tries} tries of {self.key}"


class Tried(models.Model):
    """How often something was tried within a while, and refused: what is more than the log takes is counted here, until
    the while is over and the log is told the number."""

    key = models.TextField()
    until = models.DateTimeField()
    listed = models.IntegerField()
    seen = models.IntegerField(default=1)
    actor = models.TextField()
    about = models.TextField()
    concerns = models.TextField(default="")
    body = models.JSONField(default=dict)

    class Meta:
        default_permissions = ()
        constraints = [models.UniqueConstraint(fields=["key", "until"], name="tried_once_per_while")]
        indexes = [models.Index(fields=["until"], name="tried_until")]

    def __str__(self) -> str:
        return f"{self.seen} times {self.key}"
