"""The log of acts is found newest first, by actor and by kind. What a run writes on its way stands in none of these."""

from __future__ import annotations

from typing import ClassVar

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models
from django.db.models import Q

COURSE = (
    "adopted", "applied", "attempt lost", "attention", "cancelled", "compensated", "completed", "failed", "gated",
    "in doubt", "intent", "late answer", "linked", "looked up", "no answer", "not sent", "not undoable",
    "partly compensated", "resumed", "run failed", "sent", "started",
)
ACTS = ~Q(kind__in=list(COURSE))
BY_MACHINE = Q(actor="interlock") | Q(actor__contains=":")


def _index(name: str, *fields: str, condition: Q) -> AddIndexConcurrently:
    return AddIndexConcurrently(
        "ledgerevent", models.Index(fields=[*fields, "at", "id"], name=name, condition=condition)
    )


class Migration(migrations.Migration):
    atomic = False  # runs go on writing while an index is built

    dependencies: ClassVar = [("durable", "0010_acts")]

    operations: ClassVar = [
        _index("act_of_people", condition=ACTS & ~BY_MACHINE),
        _index("act_of_machines", condition=ACTS & BY_MACHINE),
        _index("act_by_actor", "actor", condition=ACTS),
        _index("act_by_kind", "kind", condition=ACTS),
    ]
