"""What a fresh process needs to go on: checkpoints, the conversation, frozen results."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from durable.models.fields import Clock, one_of, state_field
from durable.models.runs import Run
from durable.states import CheckpointKind


class Branch(models.Model):
    """A conversation, stored once. A fork's branch begins with its parent's first `base_count` messages."""

    parent = models.ForeignKey("self", models.PROTECT, null=True, related_name="branches")
    base_count = models.IntegerField(default=0)

    def __str__(self) -> str:
        return f"branch {self.pk}"


class Message(models.Model):
    """One message of a conversation: only ever added, numbered within its branch from 1."""

    branch = models.ForeignKey(Branch, models.CASCADE, related_name="messages", db_index=False)
    no = models.IntegerField()
    role = models.TextField()
    content = models.JSONField()
    at = models.DateTimeField(db_default=Clock())

    class Meta:
        constraints = [models.UniqueConstraint(fields=["branch", "no"], name="message_once")]

    def __str__(self) -> str:
        return f"{self.role} {self.no}"


class Checkpoint(models.Model):
    """A snapshot after which a process that holds nothing else can go on.

    `step` is what has just ended (or stopped), `next_step` what is to be executed. `state` is null where it equals the
    state of `state_version`, so that a large, unchanged working state is stored once. `progress` counts the visits of
    each step. The conversation is named by branch, count and compaction base; the budget is a copy for people and
    forks, the counters themselves stand in `Budget`.
    """

    run = models.ForeignKey(Run, models.CASCADE, related_name="checkpoints", db_index=False)
    version = models.IntegerField()
    kind = state_field()
    step = models.TextField()
    visit = models.IntegerField()
    next_step = models.TextField()
    next_visit = models.IntegerField()
    attempt = models.IntegerField()
    state = models.JSONField(null=True)
    state_version = models.IntegerField()
    progress = models.JSONField()
    branch = models.ForeignKey(Branch, models.PROTECT, related_name="checkpoints", db_index=False)
    message_count = models.IntegerField()
    compaction_base = models.IntegerField(default=0)
    budget = models.JSONField(default=dict)
    at = models.DateTimeField(db_default=Clock())

    class Meta:
        constraints = [
            one_of("kind", CheckpointKind, "checkpoint_kind_known"),
            models.UniqueConstraint(fields=["run", "version"], name="checkpoint_once"),
        ]
        # Was a run ever skipped? Its steps may then come again.
        indexes = [models.Index(fields=["run"], name="checkpoint_skip", condition=Q(kind="skip"))]

    def __str__(self) -> str:
        return f"checkpoint {self.version} of run {self.run_id}"


class Frozen(models.Model):
    """A result that a replay gets back instead of asking again: a read, or a model's answer.

    `fresh_until` is null for what never ages. A model call is reserved (`answered` false) before it is asked and
    billed after; `tokens` adds up all calls at this place, those included that a crash cut off.
    """

    run = models.ForeignKey(Run, models.CASCADE, related_name="frozen", db_index=False)
    step = models.TextField()
    visit = models.IntegerField()
    ordinal = models.IntegerField()
    tool = models.TextField()
    args_digest = models.TextField()
    result = models.JSONField(null=True)
    answered = models.BooleanField(default=True)
    reserved = models.BigIntegerField(default=0)
    tokens = models.BigIntegerField(default=0)
    fetched_at = models.DateTimeField(db_default=Clock())
    fresh_until = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["run", "step", "visit", "ordinal"], name="frozen_once"),
            models.CheckConstraint(condition=Q(tokens__gte=0) & Q(reserved__gte=0), name="frozen_counts_up"),
        ]

    def __str__(self) -> str:
        return f"{self.tool} at {self.step}"
