"""All that is known of some effects, put together: asked, said, decided, sent, doubted, settled, undone.

However many they are, it is read in a fixed number of queries. What is no longer kept says so, and so does what was
changed behind the product's back; what is secret is masked as on the gate.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import OuterRef, QuerySet
from django.db.models.functions import JSONObject

from approvals import differences, opened, outcomes
from approvals.models import Decision, Gate
from approvals.queries import actors, answers, erasures, events, words
from approvals.states import PAST, Verdict
from durable import names
from durable.digest import canonical
from durable.errors import InterlockError
from durable.models import Effect, LedgerEvent, Sealed, Subject
from durable.present import Seen
from durable.states import EventKind
from durable.text import quoted

#: Cases that a page shows whole, and effects that one dossier lists, the newest.
SHOWN, MOST = 25, 500
_SETTLES = frozenset(
    {EventKind.ADOPTED, EventKind.VERDICT, EventKind.APPLIED, EventKind.FAILED, EventKind.WITHDRAWN}
)
_SEALED = ("payload", "payload_asked", "said", "facts", "proof")


def whole(found: QuerySet[Effect]) -> list[Effect]:
    """These effects with all that a case is made of, in their order."""
    related = ("run__seal_key", "undo_of", *_SEALED)
    filed = Subject.objects.filter(effect=OuterRef("pk")).order_by("kind")
    return list(
        found.select_related(*related)
        .defer("run__input", "run__result")
        .annotate(filed=ArraySubquery(filed.values(found=JSONObject(kind="kind", hash="hash"))))
    )


def cases(effects: Sequence[Effect]) -> list[dict[str, Any]]:
    """One case for each effect, in their order; the effects come from `whole`."""
    told = _told(effects)
    gates, decisions = _gates(effects)
    undos = _undos(effects)
    who = actors.names(events.told_of([event for found in told.values() for event in found]))
    notes = erasures.notes([effect.run for effect in effects])
    return [
        _case(
            effect,
            _events(effect, told[effect.key], who),
            gates[effect.pk],
            decisions,
            notes.get(effect.run_id, ""),
        )
        | {"undos": undos[effect.pk]}
        for effect in effects
    ]


def _told(effects: Sequence[Effect]) -> defaultdict[str, list[LedgerEvent]]:
    """The events of each effect, by key, newest first."""
    found: defaultdict[str, list[LedgerEvent]] = defaultdict(list)
    of_keys = LedgerEvent.objects.filter(effect_key__in=[effect.key for effect in effects])
    for event in of_keys.exclude(effect_key="").select_related("detail__sealed").order_by("-id"):
        found[event.effect_key].append(event)
    return found


def _gates(
    effects: Sequence[Effect],
) -> tuple[defaultdict[int, list[Gate]], defaultdict[int, list[Decision]]]:
    """The gates of each effect, the first round first, and the answers to each gate."""
    numbers = [effect.pk for effect in effects]
    gates: defaultdict[int, list[Gate]] = defaultdict(list)
    for gate in Gate.objects.filter(effect__in=numbers).select_related("payload").order_by("id"):
        gates[gate.effect_id].append(gate)
    decisions: defaultdict[int, list[Decision]] = defaultdict(list)
    answered = Decision.objects.filter(gate__effect__in=numbers).select_related("person", "sealed")
    for decision in answered.order_by("id"):
        decisions[decision.gate_id].append(decision)
    return gates, decisions


def _undos(effects: Sequence[Effect]) -> defaultdict[int, list[dict[str, Any]]]:
    """What was done to undo each effect, in order."""
    found: defaultdict[int, list[dict[str, Any]]] = defaultdict(list)
    columns = ("undo_of_id", "key", "state", "receipt_id", "failure", "recorded_at", "settled_at")
    numbers = [effect.pk for effect in effects]
    for row in Effect.objects.filter(undo_of__in=numbers).order_by("id").values(*columns):
        found[row.pop("undo_of_id")].append(dict(row))
    return found


def _events(effect: Effect, rows: list[LedgerEvent], who: Mapping[str, str]) -> list[dict[str, Any]]:
    """What the ledger says of an effect, the oldest first, each with its place in the run's chain."""
    lines = events.lines(effect.run, rows, who, of_effect=True)
    return [
        {
            **{name: line[name] for name in ("kind", "who", "text", "said", "at")},
            "no": row.no,
            "hash": bytes(row.hash).hex(),
        }
        for row, line in zip(reversed(rows), reversed(lines), strict=True)
    ]


def _case(
    effect: Effect,
    log: list[dict[str, Any]],
    gates: list[Gate],
    decisions: Mapping[int, list[Decision]],
    erased: str,
) -> dict[str, Any]:
    run = effect.run
    undo = effect.undo_of is not None
    return {
        "id": effect.pk,
        "erased": erased,
        "key": effect.key,
        "title": words.title(effect.tool, effect.amount_minor, effect.currency, undo=undo),
        "about": _about(effect),
        "state": effect.state,
        "tool": effect.tool,
        "tool_version": effect.tool_version,
        "class_name": effect.effect_class,
        "vendor": words.vendor(effect.vendor),
        "run": run.ref,
        "agent": run.agent,
        "requester": quoted(run.requester),
        "step": effect.step,
        "minor": effect.amount_minor,
        "currency": effect.currency,
        "reason": effect.reason,
        "recorded_at": effect.recorded_at,
        "settled_at": effect.settled_at,
        "digest": effect.digest,
        "payload": _payload(effect.payload, effect),
        "asked": None
        if effect.digest == effect.digest_asked
        else {"digest": effect.digest_asked, "payload": _payload(effect.payload_asked, effect)},
        "said": _said(effect),
        "facts": _facts(effect),
        "rounds": [_round(gate, effect, decisions.get(gate.pk, [])) for gate in gates],
        "sends": effect.sends,
        "first_sent_at": effect.first_sent_at,
        "last_sent_at": effect.last_sent_at,
        "doubts": _doubts(log),
        "receipt": effect.receipt_id,
        "adopted": effect.adopted,
        "proof": _proof(effect),
        "failure": effect.failure,
        "undoes": effect.undo_of.key if effect.undo_of is not None else "",
        "log": log,
    }


def _said(effect: Effect) -> str:
    """What the agent said in the step that asked."""
    try:
        return "" if effect.said is None else str(opened.read(effect.said, effect.run))
    except InterlockError as error:
        return opened.instead(error)


def _about(effect: Effect) -> list[dict[str, str]]:
    """Whom it is about: kind, name, and the hash that finds all about the same."""
    hashes: dict[str, str] = {one["kind"]: one["hash"] for one in getattr(effect, "filed", ())}
    try:
        found: Mapping[str, str] = names.named(opened.read(effect.payload, effect.run)["args"], hashes)
    except InterlockError as error:
        found = dict.fromkeys(hashes, opened.instead(error))
    return [{"kind": kind, "name": found.get(kind, ""), "hash": hashes[kind]} for kind in sorted(hashes)]


def _payload(sealed: Sealed, effect: Effect) -> bytes:
    """A payload with its secrets masked, as canonical JSON."""
    try:
        return canonical(differences.read_public(sealed, effect.run))
    except InterlockError as error:
        return canonical(opened.instead(error))


def _facts(effect: Effect) -> list[dict[str, str]]:
    """What the effect rested on when it was drafted."""
    if effect.facts is None:
        return []
    try:
        found: Mapping[str, Any] = opened.read(effect.facts, effect.run)
    except InterlockError as error:
        return [{"name": "facts", "value": opened.instead(error)}]
    return [{"name": name.replace("_", " "), "value": str(found[name])} for name in sorted(found)]


def _round(gate: Gate, effect: Effect, decisions: Iterable[Decision]) -> dict[str, Any]:
    """One asking of people: about which payload, why, until when, and what each has answered."""
    other = gate.digest != effect.digest
    return {
        "round": gate.round,
        "state": gate.state,
        "why": gate.reason,
        "opened_at": gate.opened_at,
        "decide_by": gate.decide_by,
        "closed_at": gate.closed_at,
        "used_at": gate.used_at,
        "digest": gate.digest,
        "payload": _payload(gate.payload, effect) if other else None,
        "answers": [
            {
                "who": outcomes.name(decision.person),
                "verdict": PAST[Verdict(decision.verdict)],
                "words": answers.said(decision, effect.run),
                "at": decision.at,
                "authenticated": decision.authenticated,
                "signed_in_at": decision.signed_in_at,
                "digest": decision.digest,
            }
            for decision in decisions
        ],
    }


def _doubts(log: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """When nobody could tell what had become of it, until when, and how that was settled."""
    found: list[dict[str, Any]] = []
    for event in log:
        if event["kind"] == EventKind.IN_DOUBT and (not found or found[-1]["until"] is not None):
            found.append({"since": event["at"], "until": None, "how": ""})
        elif event["kind"] in _SETTLES and found and found[-1]["until"] is None:
            found[-1] |= {"until": event["at"], "how": f"{event['who']} {event['text']}"}
    return found


def _proof(effect: Effect) -> list[dict[str, str]]:
    """What the vendor's receipt says."""
    if effect.proof is None:
        return []
    try:
        found: Mapping[str, Any] = opened.read(effect.proof, effect.run)
    except InterlockError as error:
        return [{"name": "receipt", "value": opened.instead(error)}]
    return receipt_rows(found)


def at_vendor(seen: Seen) -> dict[str, Any]:
    """What a vendor has of an effect, as _at_vendor.html and a dossier's file tell it."""
    return {
        "at": seen.at,
        "cannot": seen.cannot,
        "receipts": [
            {"id": receipt["id"], "wrong": wrong, "rows": receipt_rows(receipt)}
            for receipt, wrong in seen.receipts
        ],
    }


def receipt_rows(receipt: Mapping[str, Any]) -> list[dict[str, str]]:
    """What a receipt says, name by name."""
    rows = {name: receipt.get(name) for name in ("amount", "currency", "target", "account", "key", "at")}
    rows |= receipt.get("facts") or {}
    return [
        {"name": name.replace("_", " "), "value": str(value)}
        for name, value in rows.items()
        if value not in (None, "")
    ]
