"""Oracles about what is kept: runs, attempts, budgets and chains among themselves, and what the crowd was told."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from datetime import UTC, timedelta

from proof.chaos.finding import Finding
from proof.chaos.history import History, Row, body

#: States in which a run's life is over.
ENDED = {"completed", "failed", "cancelled", "compensated", "partly compensated"}
_SETTLED = ("applied", "adopted")
_OPEN = {"gated", "approved", "pending", "in doubt"}
#: The event that each of an operator's commands leaves behind.
_COMMANDS = {
    "holds": "held",
    "releases": "released",
    "cancellations": "cancel asked",
    "compensations": "compensation asked",
    "retries": "retried",
    "forks": "forked",
}
#: Within this a stop order has reached everybody.
_SOON = timedelta(seconds=5)
#: How the ledger words each verdict.
_VERDICTS = {"did not": "did not happen"}


def all_ended(history: History) -> Finding:
    """Every run has ended, over no effect that is open, with no gate and no question left."""
    found = Finding()
    for run in history.runs:
        found.check(
            run["state"] in ENDED, f"{run['ref']} is still {run['state']}{' and held' if run['held'] else ''}"
        )
    refs = {run["id"]: run["ref"] for run in history.runs}
    for effect in history.effects:
        found.check(effect["state"] not in _OPEN, f"{effect['key']} is still {effect['state']}")
    for wait in history.waits:
        sentence = f"{refs.get(wait['run_id'])} still waits: {wait['kind']} {wait['name']}"
        found.check(wait["state"] != "open", sentence)
    for gate in history.gates:
        found.check(
            gate["state"] not in ("open", "asked back"), f"gate {gate['id']} is still {gate['state']}"
        )
    return found


def no_lease_left(history: History) -> Finding:
    """Nobody holds a run that has ended; every attempt has its number, once, and its end."""
    found = Finding()
    numbers: dict[int, list[int]] = defaultdict(list)
    for attempt in history.attempts:
        numbers[attempt["run_id"]].append(attempt["number"])
        found.check(
            bool(attempt["how"]), f"attempt {attempt['number']} of run {attempt['run_id']} has no end"
        )
    for run in history.runs:
        found.check(
            run["lease_until"] is None, f"{run['ref']} is {run['state']}, and held by {run['worker']}"
        )
        made = sorted(numbers[run["id"]])
        found.check(
            made == list(range(1, run["attempt"] + 1)), f"{run['ref']}: attempts {made} of {run['attempt']}"
        )
    return found


def budgets_add_up(history: History) -> Finding:
    """What is spent is the sum of what was applied, nothing stays reserved, and no counter lies below its entries."""
    found = Finding()
    budget_of = {run["id"]: run["budget_id"] for run in history.runs}
    effects = {effect["key"]: effect for effect in history.effects}
    spent: Counter[tuple[int, str]] = Counter()
    for event in history.events_of(*_SETTLED):
        effect = effects[event["effect_key"]]
        if effect["undo_of_id"] is None and effect["amount_minor"] is not None:
            spent[budget_of[effect["run_id"]], effect["currency"]] += body(event)["amount_minor"]
    for purse in history.purses:
        name, at = (
            (purse["budget_id"], purse["currency"]),
            f"the {purse['currency']} of budget {purse['budget_id']}",
        )
        found.check(
            purse["spent_minor"] == spent[name], f"{at}: {purse['spent_minor']} spent of {spent[name]}"
        )
        found.check(purse["reserved_minor"] == 0, f"{at}: {purse['reserved_minor']} is still reserved")
    used: Counter[int] = Counter()
    for row in history.frozen:
        used[budget_of[row["run_id"]]] += row["tokens"]
    for budget in history.budgets:
        tokens, at = used[budget["id"]], f"budget {budget['id']}"
        found.check(budget["tokens_used"] >= tokens, f"{at}: {budget['tokens_used']} tokens used of {tokens}")
        found.check(
            budget["tokens_reserved"] == 0, f"{at}: {budget['tokens_reserved']} tokens are still reserved"
        )
    return found


def chains_hold(history: History) -> Finding:
    """Each run's events recompute to their hashes and to the chain's head, and hold all that was ever seen of them."""
    found = Finding()
    hashes: dict[tuple[str, int], bytes] = {}
    heads: dict[str, tuple[int, bytes]] = defaultdict(lambda: (0, b""))
    for event in sorted(history.events, key=lambda event: (event["run_ref"], event["no"])):
        ref, (no, head) = event["run_ref"], heads[event["run_ref"]]
        at = event["at"].astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        told = (ref, str(event["no"]), event["kind"], event["effect_key"], event["actor"], at, event["body"])
        head = hashlib.sha256(head + "\n".join(("interlock-1", *told)).encode()).digest()
        good = event["no"] == no + 1 and event["hash"] == head
        found.check(good, f"{ref}: event {event['no']} is not what its hash says, or stands in a gap")
        heads[ref], hashes[ref, event["no"]] = (event["no"], head), head
    for chain in history.chains:
        good = heads[chain["run_ref"]] == (chain["no"], chain["head"])
        found.check(good, f"{chain['run_ref']}: the chain's head is not that of its last event")
    for ref, no, seen in history.seen:
        found.check(hashes.get((ref, no)) == seen, f"{ref}: event {no} was seen, and is gone or another")
    return found


def stops_stop(history: History) -> Finding:
    """Nothing leaves a run that is held or to be cancelled, by its own chain; nor, soon, a tool that is stopped."""
    found = Finding()
    held: set[str] = set()
    cancelled: set[str] = set()
    tools = {effect["key"]: effect["tool"] for effect in history.effects}
    for event in sorted(history.events, key=lambda event: (event["run_ref"], event["no"])):
        ref, kind, key = event["run_ref"], event["kind"], event["effect_key"]
        if kind == "held":
            held.add(ref)
        elif kind in ("released", "cancel asked"):
            held.discard(ref)
        if kind == "cancel asked":
            cancelled.add(ref)
        if kind not in ("intent", "sent"):
            continue
        found.check(kind != "sent" or ref not in held, f"{key} was sent while its run was held")
        found.check(
            ref not in cancelled or ":undo" in key, f"{key}: {kind} after its run was to be cancelled"
        )
        late = [
            s for s in history.stops if kind == "sent" and s["name"] == tools.get(key) and _during(s, event)
        ]
        found.check(not late, f"{key} was sent under a stop order")
    return found


def _during(stop: Row, event: Row) -> bool:
    """Whether an event came when an order must have reached everybody, and was not lifted yet."""
    return bool(
        stop["at"] + _SOON < event["at"] and (stop["lifted_at"] is None or event["at"] < stop["lifted_at"])
    )


def promises_kept(history: History) -> Finding:
    """What the crowd was told is done is there: starts, decisions, commands, verdicts. One key started one run."""
    found = Finding()
    started = {(run["start_key"], run["ref"]) for run in history.runs}
    for note in history.noted("started"):
        there = (note["key"], note["ref"]) in started
        found.check(there, f"{note['key']}: {note['ref']} was started, and is not there")
    names = {person["id"]: person["username"] for person in history.people}
    decided = {(d["gate_id"], names[d["person_id"]], d["verdict"], d["digest"]) for d in history.decisions}
    for note in history.noted("decision"):
        there = (note["gate"], note["person"], note["verdict"], note["digest"]) in decided
        found.check(there, f"gate {note['gate']}: the {note['verdict']} of {note['person']} is not there")
    _commands(history, found)
    lifted = {stop["id"]: stop["lifted_at"] is not None for stop in history.stops}
    for note in history.noted("stop"):
        found.check(note["stop"] in lifted, f"stop order {note['stop']} is not there")
    for note in history.noted("lifted"):
        found.check(lifted.get(note["stop"], False), f"stop order {note['stop']} was lifted, and is not")
    said = {(e["effect_key"], e["actor"], body(e)["verdict"]) for e in history.events_of("verdict")}
    said |= {(e["effect_key"], e["actor"], body(e)["verdict"]) for e in history.events_of("verdict proposed")}
    said |= {(e["effect_key"], e["actor"], "acknowledge") for e in history.events_of("settled")}
    for note in history.noted("verdict"):
        word = _VERDICTS.get(note["verdict"], note["verdict"])
        there = (note["key"], note["person"], word) in said
        found.check(there, f"{note['key']}: the verdict {word} of {note['person']} is not there")
    return found


def _commands(history: History, found: Finding) -> None:
    there = Counter((event["run_ref"], event["kind"], event["actor"]) for event in history.events)
    told = history.noted("command")
    given = Counter((note["ref"], _COMMANDS[note["command"]], note["person"]) for note in told)
    for (ref, kind, person), times in given.items():
        known = there[ref, kind, person]
        found.check(known >= times, f"{ref}: {kind} by {person} {times} times, and there {known} times")
