"""How long what is kept, what has gone by it, and how much room everything takes."""

from __future__ import annotations

from functools import reduce
from operator import and_

from django.db import models
from django.db.models import F, Q

from durable.models.fields import Clock

#: What of an ended run goes after its own time, by the column that says after how many days.
OF_RUNS = ("checkpoints", "frozen", "messages", "payloads")
#: Days that the ledger is kept at least: twelve months, a leap day among them (PCI DSS 10.5.1).
LEDGER_FLOOR = 366
#: More days than this are no time but a mistake: a hundred years.
MOST_DAYS = 36_525

_COLUMNS = (*OF_RUNS, "ledger")
_REAL = reduce(and_, (Q(**{name: None}) | Q(**{f"{name}__range": (1, MOST_DAYS)}) for name in _COLUMNS))
_OUTLIVES = reduce(and_, (Q(**{f"{name}__isnull": False, f"{name}__lt": F("ledger")}) for name in OF_RUNS))


class RetentionPolicy(models.Model):
    """How many days each kind is kept after its run's end; null is for ever. The newest row is what counts.

    Rows are only added, so that what was in force when something went can always be told.
    """

    checkpoints = models.IntegerField(null=True)
    frozen = models.IntegerField(null=True)
    messages = models.IntegerField(null=True)
    payloads = models.IntegerField(null=True)
    ledger = models.IntegerField(null=True)
    actor = models.TextField()
    at = models.DateTimeField(db_default=Clock())

    class Meta:
        constraints = [
            models.CheckConstraint(condition=_REAL, name="retention_days_real"),
            models.CheckConstraint(
                condition=Q(ledger=None) | Q(ledger__gte=LEDGER_FLOOR), name="retention_ledger_floor"
            ),
            models.CheckConstraint(
                condition=Q(ledger=None) | _OUTLIVES, name="retention_ledger_outlives_all"
            ),
        ]

    def __str__(self) -> str:
        return f"retention policy {self.pk}"


class RetentionPass(models.Model):
    """One day's pruning (a day of UTC): what has gone in it so far. A day has one, however often it is asked for.

    `asked_at` is when beat asked last. `trouble` is why something that is due did not go.
    """

    day = models.DateField(unique=True)
    policy = models.ForeignKey(RetentionPolicy, models.PROTECT, related_name="passes", db_index=False)
    begun_at = models.DateTimeField(db_default=Clock())
    asked_at = models.DateTimeField(db_default=Clock())
    ended_at = models.DateTimeField(null=True)
    runs = models.BigIntegerField(default=0)
    checkpoints = models.BigIntegerField(default=0)
    frozen = models.BigIntegerField(default=0)
    messages = models.BigIntegerField(default=0)
    payloads = models.BigIntegerField(default=0)
    events = models.BigIntegerField(default=0)
    effects = models.BigIntegerField(default=0)
    trouble = models.TextField(default="")

    def __str__(self) -> str:
        return f"pruning of {self.day}"


class Stored(models.Model):
    """How much room one kind took on a day: bytes with indexes, rows as the server estimates them."""

    day = models.DateField()
    kind = models.TextField()
    bytes = models.BigIntegerField()
    rows = models.BigIntegerField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["day", "kind"], name="stored_once_a_day")]

    def __str__(self) -> str:
        return f"{self.kind} on {self.day}"
