"""The search in the ledger: what it finds is what is there, on every way that it may take to find it."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from approvals.models import Decision, Gate
from approvals.queries import tallies
from durable import indexing, runner, vault
from durable.models import Effect, EffectGroup, Indexed, LedgerEvent
from durable.money import from_minor
from tests.approvals.answering import APPROVE, REJECT, answer

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "owner"])


@dataclass(frozen=True)
class Known:
    """An effect as an auditor would write it down, from its row, its payload and the decisions about it."""

    key: str
    id: int
    values: dict[str, str]
    subjects: frozenset[str]
    deciders: frozenset[str]
    amount: Decimal | None
    at: datetime
    undone: bool
    undo: bool
    minor: int


def truth() -> list[Known]:
    """All effects, written down one by one without the search's tables."""
    decided: dict[int, set[str]] = {}
    for effect, person in Decision.objects.filter(verdict__in=("approve", "reject")).values_list(
        "gate__effect_id", "person__username"
    ):
        decided.setdefault(effect, set()).add(person)
    undone = set(
        Effect.objects.filter(state="applied", undo_of__isnull=False).values_list("undo_of_id", flat=True)
    )
    found = []
    for one in Effect.objects.select_related("run", "payload__run").order_by("-id"):
        args = vault.read(one.payload)["args"]
        subjects = {str(args[name]) for name in ("order", "customer", "to") if name in args}
        values = {"tool": one.tool, "vendor": one.vendor, "agent": one.run.agent, "currency": one.currency,
                  "state": one.state.replace(" ", "-"), "receipt": one.receipt_id,
                  "reason": args.get("reason", "") if one.tool == "refund" else ""}  # fmt: skip
        amount = None if one.amount_minor is None else from_minor(one.amount_minor, one.currency)
        found.append(
            Known(one.key, one.pk, values, frozenset(subjects), frozenset(decided.get(one.pk, ())), amount,
                  one.recorded_at, one.pk in undone, one.undo_of_id is not None, one.amount_minor or 0)
        )  # fmt: skip
    return found


def walked(reader: Client, q: str) -> tuple[list[str], Any]:
    """The keys on all pages of a search, one after the other, and what the first page says."""
    keys, address, first = [], {"q": q}, None
    while True:
        page = reader.get(reverse("ledger"), address).context
        first = first or page
        keys += [row["key"] for row in page["effects"]]
        if not page["page"]["older"]:
            break
        address = {"q": q, "after": page["page"]["older"]}
    back: list[str] = []
    while page["page"]["newer"]:
        page = reader.get(reverse("ledger"), {"q": q, "before": page["page"]["newer"]}).context
        back = [row["key"] for row in page["effects"]] + back
    assert keys[: len(back)] == back
    return keys, first


def holds(one: Known, filters: dict[str, str]) -> bool:
    """Whether an effect is one of those that are asked for; subjects and amounts whole."""
    for key, value in filters.items():
        if key in ("order", "customer"):
            ok = value in one.subjects
        elif key == "decided-by":
            ok = value in one.deciders
        elif key == "amount":
            low, _, high = value.partition("..")
            ok = one.amount is not None and Decimal(low) <= one.amount <= Decimal(high or low)
        elif key == "from":
            ok = timezone.localtime(one.at).date().isoformat() >= value
        elif key == "to":
            ok = timezone.localtime(one.at).date().isoformat() <= value
        elif value == "undone":
            ok = one.undone
        else:
            ok = one.values[key] == value
        if not ok:
            return False
    return True


def check(reader: Client, known: list[Known], filters: dict[str, str]) -> int:
    """Hold the pages of a search, its counts and its sums against what is known; returns how many it found."""
    q = " ".join(f"{key}:{value}" for key, value in filters.items())
    right = [one for one in known if holds(one, filters)]
    keys, first = walked(reader, q)
    assert keys == [one.key for one in right], q
    assert first["page"]["total"] == f"{len(right):,}", q
    sums: dict[str, list[int]] = {}
    for one in right:
        state, currency = one.values["state"], one.values["currency"]
        if one.undo or not currency or state not in ("applied", "pending", "in-doubt"):
            continue
        money = sums.setdefault(currency, [0, 0, 0, 0])
        money[0 if state == "applied" else 2] += one.minor
        money[1] += one.minor if one.undone else 0
        money[3] += state == "applied"
    shown = {sum.currency: [sum.applied, sum.undone, sum.doubt, sum.count] for sum in first["sums"]}
    assert shown == sums, q
    other = {key: value for key, value in filters.items() if key != "state"}
    counts = {chip["label"]: chip["count"] for chip in first["filters"]}
    assert counts["Applied"] == str(sum(holds(one, other | {"state": "applied"}) for one in known)), q
    return len(right)


def asked(known: list[Known], number: int) -> Iterator[dict[str, str]]:
    """Filters of all sorts, alone and together: most find something, some nothing."""
    chance = random.Random(7)
    keys = ("tool", "vendor", "agent", "currency", "state", "reason", "decided-by", "amount", "from", "to", "order",
            "customer")  # fmt: skip
    for place in range(number):
        one, other = chance.choice(known), chance.choice(known)
        days = sorted(timezone.localtime(at).date().isoformat() for at in (one.at, other.at))
        may = {
            **{key: value for key, value in one.values.items() if value and key != "receipt"},
            "decided-by": chance.choice(["marta", "jonas", "sven"]),
            "from": days[0],
            "to": days[1],
        }
        if one.undone and chance.random() < 0.5:
            may["state"] = "undone"
        if one.amount is not None:
            may["amount"] = chance.choice([f"{one.amount}", f"10..{one.amount + 20}"])
        if one.subjects:
            may["order" if min(one.subjects).isdigit() else "customer"] = min(one.subjects)
        some = [keys[place % len(keys)], *chance.sample(keys, chance.choice([0, 0, 1, 1, 2]))]
        yield {key: may[key] for key in some if key in may}


ZONES = ("UTC", "Asia/Kolkata", "America/St_Johns")


def test_every_search_finds_what_is_there_and_sums_it_up(reader: Client) -> None:
    known = truth()
    found = 0
    for place, filters in enumerate(asked(known, 36)):
        zone = ZONES[(place + place // 12) % 3]  # each filter in each zone
        assert reader.post(reverse("time-zone-choices"), {"zone": zone}).status_code == 303
        with timezone.override(zone):
            found += bool(check(reader, known, filters))
    assert 15 < found < 36


def nothing_indexed(monkeypatch: pytest.MonkeyPatch) -> None:
    """As right after an upgrade."""
    EffectGroup.objects.all().delete()
    Indexed.objects.update(done=0, mark=0)


def nothing_indexed_and_much_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    nothing_indexed(monkeypatch)
    monkeypatch.setattr(tallies, "BEHIND", 100)


def stopped_half_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """The indexer has gone through half of what there is."""
    nothing_indexed(monkeypatch)
    monkeypatch.setattr(indexing, "STRETCH", 150)
    while Indexed.objects.get().done < 600:
        indexing.catch_up(0.001)


def decided_since(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was indexed has changed: people have said yes and no, and letters went out."""
    marta = User.objects.get(username="marta")
    for gate in Gate.objects.filter(state__in=("open", "asked back")).select_related("effect__run"):
        letter = gate.effect.tool == "send_email"
        answer(marta, gate, APPROVE if letter else REJECT)
        runner.drive(gate.effect.run.ref)
    assert Effect.objects.filter(state="gated").count() == 0
    assert Effect.objects.filter(tool="send_email", state="applied").exists()


@pytest.mark.parametrize(
    "stands", [nothing_indexed, nothing_indexed_and_much_to_do, stopped_half_way, decided_since]
)
def test_a_search_is_right_however_far_the_index_is(
    reader: Client, stands: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    stands(monkeypatch)
    known = truth()
    for filters in asked(known, 12):
        check(reader, known, filters)
    monkeypatch.undo()
    for _ in range(4):
        indexing.catch_up(60)
    done = Indexed.objects.get()
    assert done.done == LedgerEvent.objects.order_by("-id")[0].pk
    for filters in asked(known, 12):
        check(reader, known, filters)
