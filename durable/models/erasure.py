"""Erasures of a person's data: who asked for which, and what has become of each run. Neither names anybody."""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models import Q

from durable.models.fields import Clock, one_of, state_field
from durable.models.runs import Run
from durable.states import EraseReason, ErasureState


class Erasure(models.Model):
    """One person's data to be erased. `hashes` are the keyed hashes of what they are called, `kinds` of which kinds.

    Which runs it is about is fixed when it is asked for (`ErasureRun`). `due_at` is when those that wait are tried
    again, `reference` the number of the request in somebody's own books.

    `beside` has, by kind, the numbers of what others than the engine keep that names the person; it has gone since
    `beside_at`, and waits while a legal hold keeps a run of theirs.

    With `second` it takes another person than `actor`, who has `agreed_by` their name; until then nothing is due, and
    it may be withdrawn.
    """

    kinds = ArrayField(models.TextField())
    hashes = ArrayField(models.TextField())
    reason = state_field()
    reference = models.TextField(default="")
    actor = models.TextField()
    asked_at = models.DateTimeField(db_default=Clock())
    due_at = models.DateTimeField(null=True, db_default=Clock())
    done_at = models.DateTimeField(null=True)
    second = models.BooleanField(default=False, db_default=False)
    agreed_by = models.TextField(default="", db_default="")
    agreed_at = models.DateTimeField(null=True)
    withdrawn_by = models.TextField(default="", db_default="")
    withdrawn_at = models.DateTimeField(null=True)
    beside = models.JSONField(null=True)
    beside_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            one_of("reason", EraseReason, "erasure_reason_known"),
            # The database itself lets nothing become due on one person's word.
            models.CheckConstraint(
                condition=Q(second=False)
                | Q(due_at=None, done_at=None)
                | ~Q(agreed_by="") & ~Q(agreed_by=models.F("actor")),
                name="erasure_by_two",
            ),
            models.CheckConstraint(
                condition=Q(withdrawn_at=None) | Q(due_at=None, done_at=None), name="erasure_withdrawn_rests"
            ),
        ]
        indexes = [
            GinIndex(fields=["hashes"], name="erasure_of_subject"),
            models.Index(fields=["due_at"], name="erasure_due", condition=Q(done_at=None)),
        ]

    def __str__(self) -> str:
        return f"erasure {self.pk}"

    @property
    def proposed(self) -> bool:
        """Whether it waits for a second person's say."""
        return self.second and not self.agreed_by and self.withdrawn_at is None


class ErasureRun(models.Model):
    """One run of an erasure: whether its data is gone, since when, and why not yet (`why`).

    `took` counts what went by kind: messages, checkpoints, frozen results, signals.
    """

    erasure = models.ForeignKey(Erasure, models.PROTECT, related_name="runs", db_index=False)
    run = models.ForeignKey(Run, models.PROTECT, related_name="erasures")
    state = state_field(ErasureState.WAITING)
    why = models.TextField(default="")
    at = models.DateTimeField(null=True)
    took = models.JSONField(default=dict)

    class Meta:
        constraints = [
            one_of("state", ErasureState, "erasure_run_state_known"),
            models.UniqueConstraint(fields=["erasure", "run"], name="erasure_run_once"),
        ]
        indexes = [
            models.Index(fields=["erasure", "state", "id"], name="erasure_by_state"),
        ]

    def __str__(self) -> str:
        return f"run {self.run_id} of erasure {self.erasure_id}: {self.state}"
