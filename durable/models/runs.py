"""A run, its budget, its attempts and its waits."""

from __future__ import annotations

from functools import cached_property

from django.db import models
from django.db.models import Q

from durable.models.fields import Clock, one_of, state_field
from durable.states import ENDED, AttemptEnd, CheckpointKind, Durability, RunState, WaitKind, WaitState

_ENDED = [state.value for state in sorted(ENDED)]


class Budget(models.Model):
    """What a run and its forks may use together. Counters only grow; no resume and no fork resets them."""

    steps_limit = models.BigIntegerField(null=True)
    steps_used = models.BigIntegerField(default=0)
    tokens_limit = models.BigIntegerField(null=True)
    tokens_used = models.BigIntegerField(default=0)
    tokens_reserved = models.BigIntegerField(default=0)
    deadline = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(steps_limit=None) | Q(steps_used__lte=models.F("steps_limit")),
                name="budget_steps_within",
            ),
            models.CheckConstraint(
                condition=Q(tokens_reserved__gte=0) & Q(tokens_used__gte=0) & Q(steps_used__gte=0),
                name="budget_counts_up",
            ),
        ]

    def __str__(self) -> str:
        return f"budget {self.pk}"


class Purse(models.Model):
    """The money of a budget in one currency, in minor units. A currency without a purse is refused."""

    budget = models.ForeignKey(Budget, models.CASCADE, related_name="purses", db_index=False)
    currency = models.TextField()
    limit_minor = models.BigIntegerField()
    reserved_minor = models.BigIntegerField(default=0)
    spent_minor = models.BigIntegerField(default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["budget", "currency"], name="purse_once_per_currency"),
            models.CheckConstraint(
                condition=Q(reserved_minor__gte=0)
                & Q(spent_minor__gte=0)
                & Q(limit_minor__gte=models.F("reserved_minor") + models.F("spent_minor")),
                name="purse_within_limit",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.currency} of budget {self.budget_id}"


class Stop(models.Model):
    """Nothing more may leave: of one agent, one tool, or of everything (name empty, or who ordered it)."""

    scope = models.TextField()  # all, agent, tool
    name = models.TextField(default="")
    actor = models.TextField()
    reason = models.TextField()
    at = models.DateTimeField(db_default=Clock())
    lifted_at = models.DateTimeField(null=True)
    lifted_by = models.TextField(default="")

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(scope__in=["all", "agent", "tool"]), name="stop_scope_known"),
            models.UniqueConstraint(
                fields=["scope", "name"], condition=Q(lifted_at=None), name="stop_open_once"
            ),
        ]

    def __str__(self) -> str:
        return f"stop {self.scope} {self.name}".strip()


class Recovery(models.Model):
    """One restore of the database from a backup; its number is the recovery epoch of every run that came out of it.

    What happened between `since`, the backup's moment, and `at` may be forgotten here and known to the vendors. `stop`
    is the order under which it was gone through; `unknown` lists what vendors have and the ledger has not.
    """

    since = models.DateTimeField()
    at = models.DateTimeField(db_default=Clock())
    actor = models.TextField()
    reason = models.TextField()
    last_run = models.BigIntegerField(default=0)  # runs with a higher number were started after it
    stop = models.ForeignKey(Stop, models.PROTECT, null=True, related_name="+")
    unknown = models.JSONField(default=list)
    done_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"recovery {self.pk}"


class Run(models.Model):
    """One execution of an agent, from input to an end.

    `ref` is the id that people, keys and vendors see; it is never issued twice. `attempt` and `nonce` are the fencing
    token: every write of a worker is conditional on both. `due_at` says from when a worker may claim it (null: not
    before something happens), `changed_at` when its state changed last. `version` is its newest checkpoint. A run that
    came out of a backup names the `recovery` that it went through; what it did since `forgotten_since` may be missing
    from its ledger.
    """

    ref = models.TextField(unique=True)
    agent = models.TextField()
    start_key = models.TextField(null=True, unique=True)  # noqa: DJ001  # absent and empty are two things for a key
    input = models.JSONField()
    input_digest = models.TextField()
    requester = models.TextField()
    durability = state_field(Durability.ASYNC)
    state = state_field(RunState.QUEUED)
    step = models.TextField(default="")
    visit = models.IntegerField(default=1)
    tries = models.IntegerField(default=0)
    version = models.IntegerField(default=0)
    branch = models.ForeignKey("Branch", models.PROTECT, null=True, related_name="runs", db_index=False)
    message_count = models.IntegerField(default=0)
    attempt = models.IntegerField(default=0)
    nonce = models.TextField(default="")
    worker = models.TextField(default="")
    lease_until = models.DateTimeField(null=True)
    crashes = models.IntegerField(default=0)
    due_at = models.DateTimeField(null=True, db_default=Clock())
    hinted_at = models.DateTimeField(null=True)
    held = models.BooleanField(default=False)
    undo_after = models.BooleanField(default=False)
    budget = models.ForeignKey(Budget, models.PROTECT, related_name="runs")
    parent = models.ForeignKey("self", models.PROTECT, null=True, related_name="forks", db_index=False)
    parent_version = models.IntegerField(null=True)
    recovery = models.ForeignKey(Recovery, models.PROTECT, null=True, related_name="runs", db_index=False)
    forgotten_since = models.DateTimeField(null=True)
    result = models.JSONField(null=True)
    error = models.TextField(default="")
    created_at = models.DateTimeField(db_default=Clock())
    changed_at = models.DateTimeField(db_default=Clock())
    ended_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            one_of("state", RunState, "run_state_known"),
            one_of("durability", Durability, "run_mode_known"),
        ]
        indexes = [
            # What may a worker claim, and which runs may have lost their worker? No index holds what a step's end
            # writes (the lease, the version): so PostgreSQL leaves the indexes alone where a run only moves on.
            models.Index(fields=["due_at"], name="run_due", condition=Q(due_at__isnull=False)),
            models.Index(
                fields=["id"],
                name="run_active",
                condition=Q(state__in=["running", "failing", "cancelling", "compensating"]),
            ),
            # Which runs are suspended, so that one without an open wait is found?
            models.Index(fields=["changed_at"], name="run_suspended", condition=Q(state="suspended")),
            models.Index(fields=["state", "-id"], name="run_by_state"),
            models.Index(fields=["agent", "-id"], name="run_by_agent"),
            # Of an agent's many runs the few that ended so; a run comes into it once, at its end.
            models.Index(
                fields=["agent", "state", "-id"], name="run_ended_by_agent", condition=Q(state__in=_ENDED)
            ),
            # Whose retention is over?
            models.Index(fields=["ended_at"], name="run_ended", condition=Q(ended_at__isnull=False)),
            models.Index(fields=["parent"], name="run_forks", condition=Q(parent__isnull=False)),
        ]

    def __str__(self) -> str:
        return self.ref

    @cached_property
    def has_kin(self) -> bool:
        """Whether other runs draw on its budget: it is a fork, or has forks. None is added while a worker holds it."""
        return self.parent_id is not None or self.forks.exists()

    @cached_property
    def may_go_again(self) -> bool:
        """Whether it may come through steps again because of a skip: of its own, or of a run that it was forked from.

        None is added while a worker holds it.
        """
        return self.parent_id is not None or self.checkpoints.filter(kind=CheckpointKind.SKIP.value).exists()


class Attempt(models.Model):
    """One claim of a run by a worker. Its number and nonce are the fencing token of its lease."""

    run = models.ForeignKey(Run, models.CASCADE, related_name="attempts", db_index=False)
    number = models.IntegerField()
    worker = models.TextField()
    claimed_at = models.DateTimeField(db_default=Clock())
    ended_at = models.DateTimeField(null=True)
    how = models.TextField(default="")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["run", "number"], name="attempt_once"),
            models.CheckConstraint(
                condition=Q(how="") | Q(how__in=[e.value for e in AttemptEnd]), name="attempt_end_known"
            ),
        ]

    def __str__(self) -> str:
        return f"attempt {self.number} of run {self.run_id}"


class Wait(models.Model):
    """Why a run is suspended: a gate, a timer, an event, a hold, or a person's attention. One mechanism for all.

    `name` tells waits of one place apart: the event's name, the effect's key, the reason for attention. Every wait has
    a deadline or a named person or role that it waits for (`waits_for`).
    """

    run = models.ForeignKey(Run, models.CASCADE, related_name="waits", db_index=False)
    kind = state_field()
    name = models.TextField()
    step = models.TextField(default="")
    visit = models.IntegerField(default=1)
    ordinal = models.BigIntegerField(default=0)
    effect = models.ForeignKey("Effect", models.CASCADE, null=True, related_name="waits")
    waits_for = models.TextField(default="")
    detail = models.JSONField(default=dict)
    state = state_field(WaitState.OPEN)
    opened_at = models.DateTimeField(db_default=Clock())
    deadline = models.DateTimeField(null=True)
    answer = models.JSONField(null=True)
    closed_at = models.DateTimeField(null=True)
    closed_by = models.TextField(default="")

    class Meta:
        constraints = [
            one_of("kind", WaitKind, "wait_kind_known"),
            one_of("state", WaitState, "wait_state_known"),
            models.CheckConstraint(
                condition=Q(deadline__isnull=False) | ~Q(waits_for=""), name="wait_has_deadline_or_person"
            ),
            # One open wait a cause: an old, closed one never blocks its successor.
            models.UniqueConstraint(
                fields=["run", "kind", "name", "step", "visit", "ordinal"],
                condition=Q(state="open"),
                name="wait_open_once",
            ),
        ]
        indexes = [
            models.Index(
                fields=["deadline"], name="wait_due", condition=Q(state="open", deadline__isnull=False)
            ),
            models.Index(fields=["run", "state"], name="wait_of_run"),
            models.Index(fields=["kind", "opened_at"], name="wait_open_by_kind", condition=Q(state="open")),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


class Signal(models.Model):
    """An outside event, kept until a wait of its run consumes it. `dedupe` makes a repeated delivery harmless."""

    run = models.ForeignKey(Run, models.CASCADE, related_name="signals", db_index=False)
    name = models.TextField()
    dedupe = models.TextField()
    payload = models.JSONField()
    received_at = models.DateTimeField(db_default=Clock())
    consumed_by = models.ForeignKey(Wait, models.SET_NULL, null=True, related_name="signals")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["run", "name", "dedupe"], name="signal_once")]

    def __str__(self) -> str:
        return f"{self.name} for run {self.run_id}"
