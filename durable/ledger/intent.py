"""The one statement that writes an intent down, and why it did not where nothing came of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db import connection

from durable import vault
from durable.digest import canonical
from durable.errors import LeaseLost, Stopping
from durable.gatekeeper import Requirement
from durable.journal import ENGINE, one_line
from durable.ledger import purse
from durable.ledger.ask import Ask, about_told, amount_told, hashes_of
from durable.ledger.places import key_of, undo_key_of
from durable.ledger.release import forward_only, sent_body, within
from durable.ledger.statements import INTENT, INTENT_AND_BILL
from durable.models import Effect, Run, Sealed
from durable.sql import answer
from durable.states import EffectState, EventKind, RunState
from durable.transitions import Bill, Claim, hold_claim

_NAMES = [field.attname for field in Effect._meta.concrete_fields]


@dataclass(frozen=True, slots=True)
class Draft:
    """An effect to be: what is asked, linked to which older one, doubted since a restore, gated or sent at once."""

    ask: Ask
    once_per: str
    older: Effect | None
    doubted: Mapping[str, Any]
    needed: Requirement | None
    send: bool

    @property
    def link(self) -> int:
        """Which of the keys at its place it bears."""
        return 1 if self.older is None else self.older.link + 1

    def key(self, run_ref: str) -> str:
        """The idempotency key."""
        if self.ask.undo_of is not None:
            return undo_key_of(self.ask.undo_of, self.link)
        return key_of(run_ref, self.ask.place, self.link)

    @property
    def wanted(self) -> RunState:
        """The state in which a run may intend it: undos belong to a compensating run and to no other."""
        return RunState.RUNNING if self.ask.undo_of is None else RunState.COMPENSATING


def insert(claim: Claim, run: Run, draft: Draft, facts: Mapping[str, Any] | None) -> Effect:
    """Fence, reserve, record and, where the draft says so, release, in one statement. Returns the new effect.

    A model's answer that waits to be on record is, once this is committed: `claim.unbilled` is the caller's to clear.
    Raises LeaseLost, Stopping or BudgetExhausted; then nothing is written.
    """
    values, payload = _values(claim, run, draft, facts)
    bill = claim.unbilled
    row = answer(INTENT if bill is None else INTENT_AND_BILL, values | Bill.values(bill))
    if row is None:
        raise _why_not(claim, draft)
    effect = Effect.from_db(connection.alias, _NAMES, row)
    effect.run, effect.undo_of, effect.linked_from = run, draft.ask.undo_of, draft.older
    payload.pk = effect.payload_id
    effect.payload = effect.payload_asked = payload
    return effect


def _values(
    claim: Claim, run: Run, draft: Draft, facts: Mapping[str, Any] | None
) -> tuple[dict[str, Any], Sealed]:
    """What the statement takes, and the payload that it stores."""
    ask, proposal = draft.ask, draft.ask.proposal
    box = vault.box_of(claim.seal_key, proposal.canonical, proposal.digest)
    over_in = within(claim, ask) if draft.send else None
    values = claim.token | {
        "wanted": draft.wanted.value,
        "key": draft.key(run.ref),
        "step": ask.place.step,
        "visit": ask.place.visit,
        "ordinal": ask.place.ordinal,
        "link": draft.link,
        "linked_from": None if draft.older is None else draft.older.pk,
        "undo_of": None if ask.undo_of is None else ask.undo_of.pk,
        "tool": ask.tool.name,
        "tool_version": proposal.version,
        "effect_class": ask.effect_class.value,
        "digest": proposal.digest,
        "payload_digest": proposal.digest,
        "payload_box": box,
        "vendor": ask.facts.vendor,
        "amount": proposal.amount_minor,
        "currency": proposal.currency or "",
        "reason": proposal.reason,
        "counted": proposal.amount_minor is not None and ask.undo_of is None,
        "once_per": draft.once_per,
        "state": (EffectState.PENDING if draft.needed is None else EffectState.GATED).value,
        "sends": int(draft.send),
        "over_in": over_in,
        "look_in": None if over_in is None else over_in + ask.facts.in_flight,
        "over_at": draft.doubted.get("send_by"),
        "forgotten_since": draft.doubted.get("forgotten_since"),
    }
    sealed = Sealed(run_id=run.pk, digest=proposal.digest, box=box)
    return values | _for_people(claim, draft, facts) | _about(ask) | _told(
        claim, draft, values["key"]
    ), sealed


def _for_people(claim: Claim, draft: Draft, facts: Mapping[str, Any] | None) -> dict[str, Any]:
    """What people are shown beside the payload, sealed: the agent's words, and what held at drafting."""
    said = draft.ask.said if draft.needed or draft.doubted else ""
    said_digest, said_box = vault.box(claim.seal_key, said) if said else (None, None)
    facts_digest, facts_box = (None, None) if facts is None else vault.box(claim.seal_key, dict(facts))
    return {
        "said_digest": said_digest,
        "said_box": said_box,
        "facts_digest": facts_digest,
        "facts_box": facts_box,
    }


def _about(ask: Ask) -> dict[str, Any]:
    """Whom it is about, as keyed hashes."""
    found = hashes_of(ask, settings.INTERLOCK_HASH_KEY)
    return {"kinds": list(found), "hashes": list(found.values())}


def _told(claim: Claim, draft: Draft, key: str) -> dict[str, Any]:
    events = _events(claim, draft, key)
    return {
        "event_kinds": [kind.value for kind, _, _ in events],
        "actors": [one_line(actor) for _, actor, _ in events],
        "bodies": [canonical(body).decode() for _, _, body in events],
    }


def _events(claim: Claim, draft: Draft, key: str) -> list[tuple[EventKind, str, dict[str, Any]]]:
    """What the ledger is told: the intent, the older key that it is linked to, and the request that is let out."""
    ask, proposal = draft.ask, draft.ask.proposal
    body: dict[str, Any] = {
        "tool": ask.tool.name,
        "tool_version": proposal.version,
        "class": ask.effect_class.value,
        "digest": proposal.digest,
        "attempt": claim.attempt,
    }
    body |= amount_told(ask) | about_told(ask, key, settings.INTERLOCK_HASH_KEY)
    told = [(EventKind.INTENT, claim.actor, body)]
    if draft.older is not None:
        told.append((EventKind.LINKED, ENGINE, {"older": draft.older.key}))
    if draft.send:
        sent = sent_body(claim, ask, proposal.digest, asking=1, send=1)
        told.append((EventKind.SENT, claim.actor, sent))
    return told


def _why_not(claim: Claim, draft: Draft) -> BaseException:
    """Say why no intent was written: a lost lease, a run that is to stop, a deadline that is over, or the purse.

    Looked at after the fact. Where nothing stands in the way any more, the attempt is given up, and the next one finds
    its way.
    """
    run, ask = hold_claim(claim), draft.ask
    if run.state != draft.wanted:
        return Stopping(f"{run.ref} is {run.state}")
    forward_only(run, ask)
    if ask.proposal.amount_minor is not None and ask.undo_of is None:
        short = purse.short(run, ask.proposal.amount_minor, ask.proposal.currency or "")
        if short is not None:
            return short
    return LeaseLost(
        f"what kept {draft.key(run.ref)} from being recorded has gone; attempt {claim.attempt} gives up"
    )
