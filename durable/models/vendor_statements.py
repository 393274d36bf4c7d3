"""Statements of vendors: the vendor's account of a period held against the ledger. No SQL statement is meant here.

What a statement says is evidence: written once, in one transaction, and never changed; made again, it is a new one.
Which ones are to be made, and what nobody has explained yet, are lists that move.
"""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q

from durable.findings import AGREED, Finding
from durable.models.effects import Effect
from durable.models.fields import Clock, one_of, state_field

_DIFFERENT = [kind for kind in Finding if kind not in AGREED]


class StatementRequest(models.Model):
    """A statement that is to be made, or was: of one vendor account, about the period from `start` up to `end`.

    `asked_by` is empty for those of the schedule. `due_at` is when it is tried (again); `tries` have failed, the last
    with `trouble`. Its number is that of the statement, too.
    """

    vendor = models.TextField()
    account = models.TextField(default="")
    start = models.DateTimeField()
    end = models.DateTimeField()
    asked_by = models.TextField(default="")
    asked_at = models.DateTimeField(db_default=Clock())
    due_at = models.DateTimeField(db_default=Clock(), null=True)
    tries = models.IntegerField(default=0)
    trouble = models.TextField(default="")
    failing_since = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(start__lt=F("end")), name="statement_period"),
            # The schedule asks for each period once.
            models.UniqueConstraint(
                fields=["vendor", "account", "start", "end"],
                condition=Q(asked_by=""),
                name="statement_scheduled_once",
            ),
        ]
        indexes = [
            models.Index(fields=["due_at"], name="statement_due", condition=Q(due_at__isnull=False)),
        ]

    def __str__(self) -> str:
        return f"statement {self.pk} of {self.vendor}"


class VendorStatement(models.Model):
    """A statement that was made, whole. `listed` counts what the vendor showed, `differences` what did not agree.

    `tools` are those whose effects were held against it. `digest` is SHA-256 over its differences, in order; the event
    that says that it was made has it, and all totals.
    """

    request = models.OneToOneField(
        StatementRequest, models.PROTECT, primary_key=True, related_name="statement"
    )
    vendor = models.TextField()
    account = models.TextField()
    start = models.DateTimeField()
    end = models.DateTimeField()
    tools = ArrayField(models.TextField())
    listed = models.BigIntegerField()
    differences = models.BigIntegerField()
    digest = models.TextField()
    began_at = models.DateTimeField()
    made_at = models.DateTimeField(db_default=Clock())

    class Meta:
        indexes = [
            models.Index(fields=["vendor", "account", "-end"], name="statement_of_account"),
        ]

    def __str__(self) -> str:
        return f"statement {self.pk} of {self.vendor}, made"


class StatementTotal(models.Model):
    """What a statement found of one kind in one currency, on either side; minor units, undos for themselves.

    Where the vendor's unit isn't known, `vendor_minor` leaves the amount out, and `vendor_number` counts it.
    """

    statement = models.ForeignKey(VendorStatement, models.PROTECT, related_name="totals", db_index=False)
    kind = state_field()
    undo = models.BooleanField()
    currency = models.TextField()
    ledger_number = models.BigIntegerField()
    ledger_minor = models.DecimalField(max_digits=40, decimal_places=0)
    vendor_number = models.BigIntegerField()
    vendor_minor = models.DecimalField(max_digits=40, decimal_places=0)

    class Meta:
        constraints = [
            one_of("kind", Finding, "statement_total_kind_known"),
            models.UniqueConstraint(
                fields=["statement", "kind", "undo", "currency"], name="statement_total_once"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} in {self.currency}"


class Difference(models.Model):
    """One row in which the vendor's account and the ledger do not agree.

    What one side does not have is empty there. `receipt` is the vendor's name of it, `vendor_key` the key that the
    vendor shows, `vendor_amount` what the vendor says, exactly (empty where its unit isn't known), and `at` the
    vendor's moment, or for what the vendor does not show, when the ledger settled it. `likeness` is the SHA-256 of all
    that makes it this difference: the next statement that finds it again finds the same.
    """

    statement = models.ForeignKey(VendorStatement, models.PROTECT, related_name="found", db_index=False)
    kind = state_field()
    effect = models.ForeignKey(Effect, models.PROTECT, null=True, related_name="+", db_index=False)
    effect_key = models.TextField()
    undo = models.BooleanField()
    receipt = models.TextField()
    ledger_minor = models.BigIntegerField(null=True)
    ledger_currency = models.TextField()
    vendor_minor = models.BigIntegerField(null=True)
    vendor_amount = models.TextField()
    vendor_currency = models.TextField()
    vendor_key = models.TextField()
    target = models.TextField()
    at = models.DateTimeField()
    likeness = models.TextField()

    class Meta:
        constraints = [one_of("kind", _DIFFERENT, "difference_kind_known")]
        indexes = [
            models.Index(fields=["statement", "-id"], name="difference_of_statement"),
            models.Index(fields=["statement", "kind", "-id"], name="difference_of_kind"),
        ]

    def __str__(self) -> str:
        return f"{self.receipt or self.effect_key}: {self.kind}"


class Explanation(models.Model):
    """Somebody has said why a difference is one; the log of acts has the words. It holds for all that is alike."""

    difference = models.OneToOneField(Difference, models.PROTECT, primary_key=True, related_name="+")
    likeness = models.TextField(unique=True)
    by = models.TextField()
    at = models.DateTimeField(db_default=Clock())

    def __str__(self) -> str:
        return f"explanation of difference {self.pk}"


class Unexplained(models.Model):
    """A difference that nobody has explained, of the newest statement about its period: what is to be done."""

    difference = models.OneToOneField(Difference, models.PROTECT, primary_key=True, related_name="open")
    statement = models.ForeignKey(VendorStatement, models.PROTECT, related_name="open")
    likeness = models.TextField(db_index=True)

    def __str__(self) -> str:
        return f"difference {self.pk} is to be explained"
