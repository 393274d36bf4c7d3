"""What must hold after every test of the ledger: money adds up, and every chain is whole. Computed from rows alone."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC
from typing import Any

from durable.models import Budget, Chain, Effect, Frozen, LedgerEvent, Purse

_OPEN = ("gated", "approved", "pending", "in doubt")


def check_purses() -> None:
    """Reserved is the sum of the open effects, spent the sum of what the ledger says was applied; per currency."""
    reserved: Counter[tuple[int, str]] = Counter()
    spent: Counter[tuple[int, str]] = Counter()
    for effect in Effect.objects.filter(undo_of=None).exclude(amount_minor=None).select_related("run"):
        name = effect.run.budget_id, effect.currency
        if effect.state in _OPEN:
            reserved[name] += effect.amount_minor or 0
        for event in LedgerEvent.objects.filter(effect_key=effect.key, kind__in=("applied", "adopted")):
            spent[name] += json.loads(event.body)["amount_minor"]
    for purse in Purse.objects.all():
        name = purse.budget_id, purse.currency
        room = purse.limit_minor - reserved[name]
        assert purse.reserved_minor == reserved[name], f"{purse}: reserved money has leaked"
        assert purse.spent_minor == min(spent[name], room), f"{purse}: spent is not what the ledger says"


def hashes_of(rows: Iterable[Mapping[str, Any]]) -> list[bytes]:
    """Recompute a run's chain from its events in order: SHA-256 over the hash before and eight lines."""
    head, hashes = b"", []
    for row in rows:
        at = row["at"].astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        lines = (
            "interlock-1",
            row["run_ref"],
            str(row["no"]),
            row["kind"],
            row["effect_key"],
            row["actor"],
            at,
            row["body"],
        )
        head = hashlib.sha256(head + "\n".join(lines).encode()).digest()
        hashes.append(head)
    return hashes


def check_chain(rows: Sequence[Mapping[str, Any]], head_no: int, head: bytes) -> None:
    """The events of one run, in order, against their own hashes and the head of their chain."""
    hashes = hashes_of(rows)
    assert [bytes(row["hash"]) for row in rows] == hashes, "a hash is not what its row says"
    assert [row["no"] for row in rows] == list(range(1, len(hashes) + 1)), "an event is missing"
    assert (head_no, bytes(head)) == (len(hashes), hashes[-1]), "the head is not that of the last event"


def chain_of(run_ref: str) -> list[bytes]:
    """A run's chain as its rows make it."""
    return hashes_of(LedgerEvent.objects.filter(run_ref=run_ref).order_by("no").values())


def check_chains() -> None:
    """Every chain there is."""
    for chain in Chain.objects.all():
        rows = LedgerEvent.objects.filter(run_ref=chain.run_ref).order_by("no").values()
        check_chain(list(rows), chain.no, bytes(chain.head))


def check_tokens() -> None:
    """Reserved is the sum of what is reserved call by call, used the sum of what each call was billed; nothing else."""
    for budget in Budget.objects.all():
        calls = Frozen.objects.filter(run__budget=budget).values_list("reserved", "tokens")
        assert budget.tokens_reserved == sum(reserved for reserved, _ in calls), (
            f"{budget}: tokens have leaked"
        )
        assert budget.tokens_used == sum(used for _, used in calls), (
            f"{budget}: used is not the sum of its entries"
        )
