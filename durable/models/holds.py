"""Legal holds: what retention and erasure leave alone until somebody lifts them."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from durable.models.fields import Clock, one_of, state_field
from durable.models.runs import Run
from durable.states import HoldScope


class LegalHold(models.Model):
    """An order to keep all of a run, of every run about a subject, or of every run that a search of the ledger finds.

    `run` is set for a hold of one run; `kind` and `hash` for one of a subject, by its keyed hash. `box` seals what
    people wrote (`durable.holds.words`): the reason, the text of the search, why it was lifted. `zone` is the time zone
    in which the days of a search are meant; empty for the installation's. `found_at` is when a search was last
    resolved, `trouble` why it could not be: then nothing at all is deleted. The database refuses to delete a hold, to
    change what it is about, and to lift it twice.
    """

    scope = state_field()
    run = models.ForeignKey(Run, models.PROTECT, null=True, related_name="legal_holds", db_index=False)
    kind = models.TextField(default="")
    hash = models.TextField(default="")
    zone = models.TextField(default="", db_default="")
    box = models.BinaryField()
    actor = models.TextField()
    at = models.DateTimeField(db_default=Clock())
    lifted_by = models.TextField(default="")
    lifted_at = models.DateTimeField(null=True)
    found_at = models.DateTimeField(null=True)
    trouble = models.TextField(default="")

    class Meta:
        constraints = [
            one_of("scope", HoldScope, "legal_hold_scope_known"),
            models.CheckConstraint(
                condition=Q(scope="run", run__isnull=False, hash="")
                | Q(scope="subject", run__isnull=True) & ~Q(hash="")
                | Q(scope="search", run__isnull=True, hash=""),
                name="legal_hold_about_one_thing",
            ),
            models.CheckConstraint(
                condition=Q(lifted_at__isnull=True, lifted_by="")
                | Q(lifted_at__isnull=False) & ~Q(lifted_by=""),
                name="legal_hold_lifted_by_somebody",
            ),
        ]
        indexes = [
            models.Index(fields=["run"], name="legal_hold_of_run", condition=Q(lifted_at=None, scope="run")),
            models.Index(
                fields=["hash"], name="legal_hold_of_subject", condition=Q(lifted_at=None, scope="subject")
            ),
        ]

    def __str__(self) -> str:
        return f"legal hold {self.pk}"


class FoundRun(models.Model):
    """A run that the search of a hold has found. It stays, whatever the search finds later."""

    hold = models.ForeignKey(LegalHold, models.PROTECT, related_name="found", db_index=False)
    run = models.ForeignKey(Run, models.CASCADE, related_name="+", db_index=False)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["run", "hold"], name="found_run_once")]

    def __str__(self) -> str:
        return f"run {self.run_id}, of legal hold {self.hold_id}"


class HeldRun(models.Model):
    """Which runs are held, and by which hold: a view, true at any moment. `EXISTS` of it is the one question that
    whoever deletes must ask.
    """

    # A view has no key of its own; a run may stand here more than once.
    run = models.OneToOneField(Run, models.DO_NOTHING, primary_key=True, related_name="+")
    hold = models.ForeignKey(LegalHold, models.DO_NOTHING, related_name="+")

    class Meta:
        managed = False
        db_table = "durable_heldrun"

    def __str__(self) -> str:
        return f"run {self.run_id}, held by {self.hold_id}"
