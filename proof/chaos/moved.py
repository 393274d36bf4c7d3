"""Oracles about what moved: the vendor's book and the mail folder against the ledger, and against what people said."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from decimal import Decimal

from proof.chaos.finding import Finding
from proof.chaos.history import History, Row, body

_SETTLED = ("applied", "adopted")
#: Above this (EUR), policy has a person say yes.
_LIMIT = Decimal(100)


def root(key: str) -> str:
    """The place that a key stands for, without the link to an older key: `run:step~2` is another try of `run:step`."""
    head, undo, _ = key.partition(":undo")
    return head.partition("~")[0] + undo


def moved_once(history: History) -> Finding:
    """Each thing that a customer may get, and each key's lineage, has moved at most once; all of it where it completed.

    Refunds are told apart by charge and amount, goods by order: neither rests on a name that the product gave.
    """
    found = Finding()
    refused = _runs_with_a_no(history)
    runs = {run["start_key"]: run for run in history.runs}
    for order in history.noted("order"):
        money = [Decimal(one["amount"]) for one in history.book if one["target"] == order["charge"]]
        goods = [one for one in history.book if (one["metadata"] or {}).get("order") == order["order"]]
        goods = [one for one in goods if one["service"] == "stock" and one["metadata"]["quantity"] > 0]
        found.check(
            len(money) <= len(order["parts"]), f"order {order['order']}: {_plain(money)} was refunded"
        )
        twice = [amount for amount, times in Counter(money).items() if times > 1]
        found.check(not twice, f"order {order['order']}: {_plain(twice)} was refunded more than once")
        found.check(len(goods) <= 1, f"order {order['order']}: goods were set aside {len(goods)} times")
        run = runs.get(f"order-{order['order']}")
        if run is not None and run["state"] == "completed" and run["ref"] not in refused:
            wanted = [Decimal(part) for part in order["parts"]]
            found.check(
                sorted(money) == sorted(wanted), f"{run['ref']} completed, and refunded {_plain(money)}"
            )
    for key, times in Counter(root(one["key"] or "") for one in history.book).items():
        found.check(times == 1, f"{key} has moved {times} times under its key and those linked to it")
    for name, times in Counter(history.letters).items():
        found.check(times == 1, f"the letter {name} was written {times} times")
    return found


def _plain(amounts: list[Decimal]) -> str:
    return " + ".join(str(amount) for amount in amounts) or "nothing"


def _runs_with_a_no(history: History) -> set[str]:
    """Runs of which people changed or refused a part: there the customer gets less."""
    return {
        event["run_ref"]
        for event in history.events_of("rejected", "edited", "expired", "withdrawn", "skipped")
    }


def ledger_agrees(history: History) -> Finding:
    """What the ledger calls applied is what moved: the same keys, receipts and amounts; the same sums by currency."""
    from local import audit

    watched = {effect["key"] for effect in history.effects if effect["vendor"] in audit.VENDORS}
    told = [event for event in history.events_of(*_SETTLED) if event["effect_key"] in watched]
    ledger = [audit.entry(event["effect_key"], body(event)) for event in told]
    booked = audit.from_book(history.book)
    found = Finding()
    for row in audit.compare(booked, ledger):
        found.check(not row.wrong, f"{row.key}: {row.wrong} (book: {row.booked}, ledger: {row.recorded})")
    sums = audit.sums(booked), audit.sums(ledger)
    found.check(sums[0] == sums[1], f"the book comes to {sums[0]}, the ledger to {sums[1]}")
    mailed = {
        _message_id(e["key"]) for e in history.effects if e["vendor"] == "mail" and e["state"] == "applied"
    }
    for name in sorted(mailed ^ set(history.letters)):
        where = "in the ledger alone" if name in mailed else "in the folder alone"
        found.check(False, f"the letter {name} is {where}")
    found.tried += len(mailed)
    return found


def _message_id(key: str) -> str:
    return f"<{hashlib.sha256(key.encode()).hexdigest()[:40]}@localhost>"


def receipts_once(history: History) -> Finding:
    """No receipt proves two effects, and an effect's state is what its events add up to."""
    found = Finding()
    proofs: dict[tuple[str, str], set[str]] = defaultdict(set)
    settled: Counter[str] = Counter()
    sent: Counter[str] = Counter()
    vendors = {effect["key"]: effect["vendor"] for effect in history.effects}
    for event in history.events:
        key = event["effect_key"]
        if event["kind"] in _SETTLED:
            settled[key] += 1
            proofs[vendors.get(key, ""), body(event)["receipt"]].add(key)
        sent[key] += event["kind"] == "sent"
    for (_, receipt), keys in proofs.items():
        found.check(len(keys) == 1, f"receipt {receipt} proves {', '.join(sorted(keys))}")
    for effect in history.effects:
        key, is_applied = effect["key"], effect["state"] == "applied"
        found.check(
            settled[key] == is_applied, f"{key} is {effect['state']}, and settled {settled[key]} times"
        )
        found.check(sent[key] == effect["sends"], f"{key} counts {effect['sends']} sends of {sent[key]}")
    return found


def nothing_unapproved(history: History) -> Finding:
    """Large sums, letters and repeats under a linked key left only after one yes, about exactly what was sent."""
    found = Finding()
    effects = {effect["key"]: effect for effect in history.effects}
    yes = {
        (gate["effect_id"], decision["round"], decision["digest"])
        for gate in history.gates
        for decision in history.decisions
        if decision["gate_id"] == gate["id"] and decision["verdict"] == "approve"
    }
    large = {one["key"] for one in history.book if one["amount"] and Decimal(one["amount"]) > _LIMIT}
    for event in history.events_of("sent"):
        key, told = event["effect_key"], body(event)
        effect = effects.get(key)
        if effect is None:
            found.check(False, f"{key} was sent, and is no effect")
            continue
        needs = key in large or effect["vendor"] == "mail" or "~" in key
        if not needs:
            continue
        asked = (effect["id"], told["round"], told["digest"]) in yes
        before = _approved_before(history, event)
        found.check(asked and before, f"{key} was sent (event {event['no']}) without a yes about just that")
    for gate in history.gates:
        final = [d for d in history.decisions if d["gate_id"] == gate["id"] and d["verdict"] != "ask back"]
        winners = [d for d in final if d["verdict"] != "late refusal"]
        found.check(len(winners) <= 1, f"gate {gate['id']} was decided {len(winners)} times")
    return found


def _approved_before(history: History, sent: Row) -> bool:
    return any(
        event["effect_key"] == sent["effect_key"] and event["no"] < sent["no"]
        for event in history.events_of("approved")
    )
