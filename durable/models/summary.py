"""What auditors search by and sum up, made from the effects after the fact: nothing that acts waits for any of it.

All of it can be made again from effects, events and payloads. `durable.indexing` writes it, and nothing else does.
"""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models


class EffectGroup(models.Model):
    """Effects that are alike in all that there are few of. `number` and `minor` sum up all of them there are.

    `undo`: they undo others. `undone`: undos of them were applied. `deciders` are those who said yes or no to them, or
    what became of them, as the ledger names people. `minor` are minor units of `currency`. `likeness` is a digest of
    all that they have in common.
    """

    likeness = models.TextField(unique=True)
    tool = models.TextField()
    vendor = models.TextField()
    agent = models.TextField()
    currency = models.TextField()
    state = models.TextField()
    undo = models.BooleanField()
    undone = models.BooleanField()
    reason = models.TextField()
    deciders = ArrayField(models.TextField())
    number = models.BigIntegerField(default=0)
    minor = models.DecimalField(max_digits=40, decimal_places=0, default=0)

    def __str__(self) -> str:
        return f"{self.tool} {self.state} {self.currency}".strip()


class EffectCell(models.Model):
    """The effects of one group that stand in one block of ids and were recorded in one hour (UTC).

    Blocks bound what has to be counted anew when an effect changes, hours what a day in any zone is put together from.
    `first` and `last` are ids: between them, and nowhere else in the block, the cell's effects are found.
    """

    block = models.BigIntegerField()
    group = models.ForeignKey(EffectGroup, models.CASCADE, related_name="cells", db_index=False)
    hour = models.DateTimeField()
    number = models.IntegerField()
    minor = models.DecimalField(max_digits=40, decimal_places=0)
    first = models.BigIntegerField()
    last = models.BigIntegerField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["block", "group", "hour"], name="effect_cell_once")]
        indexes = [models.Index(fields=["group", "-hour", "-block"], name="effect_cell_by_hour")]

    def __str__(self) -> str:
        return f"{self.number} of group {self.group_id} in block {self.block}"


class SubjectName(models.Model):
    """The name of somebody or something that effects were about, sealed; found by a part of it.

    `hash` is the keyed hash under which `Subject` files it. `grams` are keyed hashes of all that stands in it, three
    characters at a time. A name goes with the last run that names it and whose seal key is destroyed.
    """

    kind = models.TextField()
    hash = models.TextField(unique=True)
    grams = ArrayField(models.IntegerField())
    box = models.BinaryField()

    class Meta:
        indexes = [GinIndex(fields=["grams"], name="subject_name_grams")]

    def __str__(self) -> str:
        return f"a name of a {self.kind}"


class Indexed(models.Model):
    """How far the indexer is: all that events up to the id `done` tell is in its tables.

    Once every transaction older than `transaction` has ended, no event up to the id `mark` can come any more.
    """

    id = models.IntegerField(primary_key=True, default=1)
    done = models.BigIntegerField(default=0)
    mark = models.BigIntegerField(default=0)
    transaction = models.BigIntegerField(default=0)

    def __str__(self) -> str:
        return f"indexed up to event {self.done}"
