"""An erasure, which a history of invented runs has none of, and the addresses of its pages."""

from __future__ import annotations

from django.urls import reverse

from durable import concerned, erasing, erasure_orders
from durable.concerned import Called
from durable.models import Erasure, Run
from durable.states import EraseReason
from tests.bench import kit


def make() -> None:
    """Erase whom the newest completed refund was about."""
    run = Run.objects.filter(state="completed", agent="RefundDesk").order_by("-pk")[0]
    called = [Called("order", run.input["order"])]
    seen = concerned.find(called).seen
    for actor in ("ada", "noor"):  # it takes two
        erasure = erasure_orders.ask(called, actor=actor, seen=seen, reason=EraseReason.ASKED, others="erase")
    erasing.carry_on(erasure.pk)
    kit.done(Erasure.objects.exclude(done_at=None).count(), 1, "erasures")


def addresses() -> dict[str, dict[str, list[str]]]:
    """By page and by what is asked."""
    made = Erasure.objects.values_list("pk", flat=True)
    return {
        "erasures": {"all": [reverse("erasures")]},
        "erasure": {"done": [reverse("erasure", args=[pk]) for pk in made]},
    }
