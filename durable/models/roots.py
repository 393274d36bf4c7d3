"""Signed roots over all chains, what is left of chains whose beginning went, and how far builder and anchors are."""

from __future__ import annotations

from django.db import models

from durable.models.fields import Clock


class Root(models.Model):
    """One signed statement about the ledger, in a chain of its own. Written once, like an event.

    Most are roots: a hash over all events of a period. `last` is the id of the newest event that this statement and
    those before it speak of; all else stands in the statement's own text (`durable.roots.statement`).
    """

    number = models.BigIntegerField(primary_key=True)
    last = models.BigIntegerField()
    statement = models.TextField()
    signature = models.BinaryField(max_length=64)

    class Meta:
        indexes = [
            models.Index(fields=["last"], name="root_of_event"),
            # Few say that events have gone; whoever deletes one asks for the newest.
            models.Index(
                fields=["-number"],
                name="root_that_cuts",
                condition=models.Q(statement__startswith="interlock-cut-"),
            ),
        ]

    def __str__(self) -> str:
        return f"root {self.number}"


class Cut(models.Model):
    """Where a chain was cut when a whole period of events went: the last event that went. The statement of `root`
    vouches for it; a chain begins after its newest cut.
    """

    root = models.ForeignKey(Root, models.PROTECT, related_name="cuts", db_index=False)
    run_ref = models.TextField()
    no = models.IntegerField()
    hash = models.BinaryField(max_length=32)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["run_ref", "root"], name="cut_once")]

    def __str__(self) -> str:
        return f"{self.run_ref} after {self.no}"


class SignKey(models.Model):
    """A public key, in 64 hexadecimal digits, whose signature under a cut the database itself takes. Only the owner of
    the tables names one (`manage.py migrate`).
    """

    key = models.TextField(primary_key=True)

    def __str__(self) -> str:
        return self.key


class AcceptedCut(models.Model):
    """A cut whose signature the database has checked: events up to the id `gone` may go. Its own trigger writes it."""

    number = models.BigIntegerField(primary_key=True)
    gone = models.BigIntegerField()

    def __str__(self) -> str:
        return f"cut {self.number}"


class Mark(models.Model):
    """The builder's one mark: once every transaction older than `transaction` has ended, no event up to the id `last`
    can come any more.
    """

    id = models.IntegerField(primary_key=True, default=1)
    last = models.BigIntegerField()
    transaction = models.BigIntegerField()
    at = models.DateTimeField(db_default=Clock())

    def __str__(self) -> str:
        return f"mark at event {self.last}"


class Anchor(models.Model):
    """A place outside of the database, and how far it has been told: the number of the newest root that it keeps."""

    name = models.TextField(primary_key=True)
    kept = models.BigIntegerField(default=0)
    kept_at = models.DateTimeField(null=True)
    due_at = models.DateTimeField(db_default=Clock())
    tries = models.IntegerField(default=0)
    trouble = models.TextField(default="")
    failing_since = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"anchor {self.name}"
