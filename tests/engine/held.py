"""What must hold after every test of the ledger: money adds up, and every chain is whole. Computed from rows alone."""

from __future__ import annotations

import hashlib
import json
from collections import Counter

from durable.models import Chain, Effect, LedgerEvent, Purse

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


def chain_of(run_ref: str) -> list[bytes]:
    """Recompute a run's chain from its rows: SHA-256 over the hash before and seven lines."""
    head, hashes = b"", []
    for event in LedgerEvent.objects.filter(run_ref=run_ref).order_by("no"):
        at = event.at.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        lines = (event.run_ref, str(event.no), event.kind, event.effect_key, event.actor, at, event.body)
        head = hashlib.sha256(head + "\n".join(lines).encode()).digest()
        hashes.append(head)
    return hashes


def check_chains() -> None:
    for chain in Chain.objects.all():
        stored = LedgerEvent.objects.filter(run_ref=chain.run_ref).order_by("no")
        hashes = chain_of(chain.run_ref)
        assert [bytes(event.hash) for event in stored] == hashes, f"{chain}: a hash is not what its row says"
        assert [event.no for event in stored] == list(range(1, len(hashes) + 1))
        assert (chain.no, bytes(chain.head)) == (len(hashes), hashes[-1])
